"""What one writes with torch for a scan over several GPUs: cumsum, all_gather of the totals, add. Beside the bench `world`.

torchrun --nproc-per-node 2 peers.py
"""
import os
import statistics

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, size = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def time(run, runs=15):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for round in range(runs + 3):
        dist.barrier()
        torch.cuda.synchronize()
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        slowest = torch.tensor([start.elapsed_time(end)], device="cuda")
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        if round >= 3:
            times.append(slowest.item())
    return statistics.median(times)


def across(x, out):
    torch.cumsum(x, -1, out=out)
    totals = torch.empty(size, *x.shape[:-1], device=x.device, dtype=x.dtype)
    dist.all_gather_into_tensor(totals, out[..., -1].contiguous())
    if rank:
        out += totals[:rank].sum(0).unsqueeze(-1)


source = torch.zeros(1 << 30, dtype=torch.float32, device="cuda")
target = torch.empty_like(source)
copy = 2 * source.numel() * 4 / time(lambda: target.copy_(source))
del source, target
if rank == 0:
    print("row\tranks\telements_of_a_rank\tmilliseconds\tpart_of_copy\tcopy_GB_per_s")
for power in (10, 20, 24, 26, 28, 30):
    x = torch.zeros(1 << power, dtype=torch.float32, device="cuda")
    out = torch.empty_like(x)
    ms = time(lambda: across(x, out))
    if rank == 0:
        part = 3 * x.numel() * 4 / copy / ms
        print(f"torch_cumsum_f32\t{size}\t{x.numel()}\t{ms:.4f}\t{part:.3f}\t{copy / 1e6:.0f}", flush=True)
    del x, out
dist.destroy_process_group()
