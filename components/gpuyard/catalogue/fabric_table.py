"""The network cards of EC2 machines as a table.

Columns: cards is network cards, primary the interfaces that card 0 takes, ipv4 the addresses of one interface.
A dash is unknown. `gpuyard.catalogue.fabric` reads it.
"""

EC2_NETWORK = """
# type            cards primary  ipv4
p6-b300.48xlarge      17       4    50
p6-b200.48xlarge       8       4    50
p5en.48xlarge         16       4    50
p5e.48xlarge          32       2    50
p5.4xlarge             1       4    30
p5.48xlarge           32       2    50
p4de.24xlarge          4      15    50
p4d.24xlarge           4      15    50
p3dn.24xlarge          1      15    50
g7e.2xlarge            1       4    64
g7e.4xlarge            1       8    64
g7e.8xlarge            1       8    64
g7e.12xlarge           1      10    64
g7e.24xlarge           2      10    64
g7e.48xlarge           4      10    64
g7.2xlarge             1       4    64
g7.4xlarge             1       8    64
g7.8xlarge             1      10    64
g7.12xlarge            1      12    64
g7.24xlarge            1      24    64
g7.48xlarge            2      12    64
g6e.xlarge             1       4    15
g6e.2xlarge            1       4    15
g6e.4xlarge            1       8    30
g6e.8xlarge            1       8    30
g6e.12xlarge           1      10    30
g6e.16xlarge           1      15    50
g6e.24xlarge           2      10    50
g6e.48xlarge           4      10    50
g6.xlarge              1       4    15
g6.2xlarge             1       4    15
g6.4xlarge             1       8    30
g6.8xlarge             1       8    30
g6.12xlarge            1       8    30
g6.16xlarge            1      15    50
g6.24xlarge            1      15    50
g6.48xlarge            1      15    50
gr6.4xlarge            1       8    30
gr6.8xlarge            1       8    30
g6f.large              1       2    10
g6f.xlarge             1       4    15
g6f.2xlarge            1       4    15
g6f.4xlarge            1       8    30
gr6f.4xlarge           1       8    30
g5.xlarge              1       4    15
g5.2xlarge             1       4    15
g5.4xlarge             1       8    30
g5.8xlarge             1       8    30
g5.12xlarge            1      15    50
g5.16xlarge            1       8    30
g5.24xlarge            1      15    50
g5.48xlarge            1       7    50
g5g.xlarge             1       4    15
g5g.2xlarge            1       4    15
g5g.4xlarge            1       8    30
g5g.8xlarge            1       8    30
g5g.16xlarge           1      15    50
g5g.metal              1      15    50
g4dn.xlarge            1       3    10
g4dn.2xlarge           1       3    10
g4dn.4xlarge           1       3    10
g4dn.8xlarge           1       4    15
g4dn.12xlarge          1       8    30
g4dn.16xlarge          1       4    15
g4dn.metal             1      15    50
p6e-gb200.36xlarge    17       -     -
m7i.large              1       3    10
m7i.xlarge             1       4    15
m7i.2xlarge            1       4    15
m7i.4xlarge            1       8    30
m7i.8xlarge            1       8    30
m6i.large              1       3    10
m6i.xlarge             1       4    15
m6i.2xlarge            1       4    15
m6i.4xlarge            1       8    30
m7g.large              1       3    10
m7g.xlarge             1       4    15
m7g.2xlarge            1       4    15
c7i.xlarge             1       4    15
c7i.2xlarge            1       4    15
c7i.4xlarge            1       8    30
"""
