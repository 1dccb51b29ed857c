printf '[global]\nioengine=libaio\nfilename=/dev/nvme0n1\nbs=4k\niodepth=32\n[mixed]\nrw=randrw\nrwmixread=70\ntime_based\nruntime=2\n' > job.fio
ssdlab run job.fio
ssdlab run job.fio --set device.capacity=64GiB
ssdlab fit drive --sheet sequential_read=7000 -o my.toml
ssdlab fit drive --base client-nvme --sheet sequential_read=7000MB/s --sheet sequential_write=6500MB/s --sheet random_write=1000k/s --sheet read_latency=60us -o my.toml
ssdlab fit drive --base client-nvme --sheet sequential_read=7000MB/s --sheet sequential_write=6500MB/s --sheet read_latency=60us -o my.toml
ssdlab run job.fio --config my.toml --set device.capacity=64GiB
ssdlab compare job.fio --config my.toml --set device.capacity=64GiB --case device.op=10.15% --case device.op=20% --rows waf,read.p50,read.p99,write.p99,flash
