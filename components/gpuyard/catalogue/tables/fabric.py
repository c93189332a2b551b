"""The network cards of EC2 machines as a table.

Columns: cards is network cards, primary the interfaces that card 0 takes, ipv4 the addresses of one interface,
then the types of which that holds. A dash is unknown. `gpuyard.catalogue.fabric` reads it.
"""

EC2_NETWORK = """
#cards primary  ipv4  types
   32        2    50  p5e.48xlarge p5.48xlarge
   17        4    50  p6-b300.48xlarge
   17        -     -  p6e-gb200.36xlarge
   16        4    50  p5en.48xlarge
    8        4    50  p6-b200.48xlarge
    4       15    50  p4de.24xlarge p4d.24xlarge
    4       10    64  g7e.48xlarge
    4       10    50  g6e.48xlarge
    2       12    64  g7.48xlarge
    2       10    64  g7e.24xlarge
    2       10    50  g6e.24xlarge
    1       24    64  g7.24xlarge
    1       15    50  p3dn.24xlarge g6e.16xlarge g6.16xlarge g6.24xlarge g6.48xlarge g5.12xlarge
    1       15    50  g5.24xlarge g5g.16xlarge g5g.metal g4dn.metal
    1       12    64  g7.12xlarge
    1       10    64  g7e.12xlarge g7.8xlarge
    1       10    30  g6e.12xlarge
    1        8    64  g7e.4xlarge g7e.8xlarge g7.4xlarge
    1        8    30  g6e.4xlarge g6e.8xlarge g6.4xlarge g6.8xlarge g6.12xlarge gr6.4xlarge gr6.8xlarge
    1        8    30  g6f.4xlarge gr6f.4xlarge g5.4xlarge g5.8xlarge g5.16xlarge g5g.4xlarge g5g.8xlarge
    1        8    30  g4dn.12xlarge m7i.4xlarge m7i.8xlarge m6i.4xlarge c7i.4xlarge
    1        7    50  g5.48xlarge
    1        4    64  g7e.2xlarge g7.2xlarge
    1        4    30  p5.4xlarge
    1        4    15  g6e.xlarge g6e.2xlarge g6.xlarge g6.2xlarge g6f.xlarge g6f.2xlarge g5.xlarge
    1        4    15  g5.2xlarge g5g.xlarge g5g.2xlarge g4dn.8xlarge g4dn.16xlarge m7i.xlarge m7i.2xlarge
    1        4    15  m6i.xlarge m6i.2xlarge m7g.xlarge m7g.2xlarge c7i.xlarge c7i.2xlarge
    1        3    10  g4dn.xlarge g4dn.2xlarge g4dn.4xlarge m7i.large m6i.large m7g.large
    1        2    10  g6f.large
"""
