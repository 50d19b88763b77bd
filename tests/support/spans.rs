//! A subscriber that keeps the spans that `scan_runtime` enters, to be looked at.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    thread::{self, ThreadId},
};

use tracing::{
    Dispatch, Level, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::NoSubscriber,
};
use tracing_subscriber::{
    Layer, Registry,
    filter::LevelFilter,
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
};

/// A span that has ended.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name.
    pub name: &'static str,
    /// The module that entered it.
    pub target: &'static str,
    /// The name of the span in which it lay.
    pub parent: Option<&'static str>,
    /// The fields that were filled in, as text.
    pub fields: BTreeMap<&'static str, String>,
    /// The thread that entered it.
    pub thread: ThreadId,
}

/// The spans that have ended.
#[derive(Clone, Default)]
pub struct Spans(Arc<Mutex<Vec<Record>>>);

impl Spans {
    /// A subscriber that puts them here, up to a level.
    pub fn subscriber(&self, level: Level) -> impl Subscriber + Send + Sync + use<> {
        // Where there is a single subscriber, `tracing` asks that of the thread which comes first to a span whether anybody wants
        // it. With another one it asks all.
        static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));
        LazyLock::force(&ANOTHER);
        Registry::default().with(self.clone().with_filter(LevelFilter::from_level(level)))
    }

    /// Those that have ended, in this order; they are forgotten.
    pub fn take(&self) -> Vec<Record> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The fields of a span that is under way.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let target = span.metadata().target();
        if !target.starts_with("scan_runtime") {
            return;
        }
        let fields = span.extensions_mut().remove::<Fields>().unwrap_or_default().0;
        let parent = span.parent().map(|parent| parent.name());
        let record = Record { name: span.name(), target, parent, fields, thread: thread::current().id() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }
}
