"""The network cards of EC2 machines as a table.

Columns: cards is network cards, primary the interfaces of card 0, ipv4 the addresses of one interface, then
the types with these values. A dash is unknown. `gpuyard_core.catalogue.fabric` parses it.
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
    1       16    64  m8i.16xlarge m8a.16xlarge m8i-flex.16xlarge m9g.16xlarge c8i.16xlarge
    1       16    64  c8a.16xlarge c8i-flex.16xlarge c9g.16xlarge r8i.16xlarge r8a.16xlarge
    1       16    64  r8i-flex.16xlarge r9g.16xlarge
    1       15    50  p3dn.24xlarge g6e.16xlarge g6.16xlarge g6.24xlarge g6.48xlarge g5.12xlarge
    1       15    50  g5.24xlarge g5g.16xlarge g5g.metal g4dn.metal m5.16xlarge m5a.16xlarge
    1       15    50  m6i.16xlarge m6a.16xlarge m6g.16xlarge m7i.16xlarge m7a.16xlarge m7g.16xlarge
    1       15    50  m7i-flex.16xlarge m8g.16xlarge c5a.16xlarge c6i.16xlarge c6a.16xlarge
    1       15    50  c6g.16xlarge c7i.16xlarge c7a.16xlarge c7g.16xlarge c7i-flex.16xlarge
    1       15    50  c8g.16xlarge r5.16xlarge r5a.16xlarge r6i.16xlarge r6a.16xlarge r6g.16xlarge
    1       15    50  r7i.16xlarge r7a.16xlarge r7g.16xlarge r8g.16xlarge
    1       12    64  g7.12xlarge m8a.12xlarge c8a.12xlarge r8a.12xlarge
    1       12    50  m8i.12xlarge m8i-flex.12xlarge m9g.12xlarge c8i.12xlarge c8i-flex.12xlarge
    1       12    50  c9g.12xlarge r8i.12xlarge r8i-flex.12xlarge r9g.12xlarge
    1       10    64  g7e.12xlarge g7.8xlarge
    1       10    50  m8i.8xlarge m8i-flex.8xlarge m9g.8xlarge c8i.8xlarge c8i-flex.8xlarge
    1       10    50  c9g.8xlarge r8i.8xlarge r8i-flex.8xlarge r9g.8xlarge
    1       10    40  m8a.8xlarge c8a.8xlarge r8a.8xlarge
    1       10    30  g6e.12xlarge
    1        8    64  g7e.4xlarge g7e.8xlarge g7.4xlarge
    1        8    50  m8i.4xlarge m8i-flex.4xlarge m9g.4xlarge c8i.4xlarge c8i-flex.4xlarge
    1        8    50  c9g.4xlarge r8i.4xlarge r8i-flex.4xlarge r9g.4xlarge
    1        8    40  m8a.4xlarge c8a.4xlarge r8a.4xlarge
    1        8    30  g6e.4xlarge g6e.8xlarge g6.4xlarge g6.8xlarge g6.12xlarge gr6.4xlarge
    1        8    30  gr6.8xlarge g6f.4xlarge gr6f.4xlarge g5.4xlarge g5.8xlarge g5.16xlarge
    1        8    30  g5g.4xlarge g5g.8xlarge g4dn.12xlarge m7i.4xlarge m7i.8xlarge m6i.4xlarge
    1        8    30  c7i.4xlarge m5.4xlarge m5.8xlarge m5.12xlarge m5a.4xlarge m5a.8xlarge
    1        8    30  m5a.12xlarge m6i.8xlarge m6i.12xlarge m6a.4xlarge m6a.8xlarge m6a.12xlarge
    1        8    30  m6g.4xlarge m6g.8xlarge m6g.12xlarge m7i.12xlarge m7a.4xlarge m7a.8xlarge
    1        8    30  m7a.12xlarge m7g.4xlarge m7g.8xlarge m7g.12xlarge m7i-flex.4xlarge
    1        8    30  m7i-flex.8xlarge m7i-flex.12xlarge m8g.4xlarge m8g.8xlarge m8g.12xlarge
    1        8    30  c5.4xlarge c5.12xlarge c5a.4xlarge c5a.8xlarge c5a.12xlarge c6i.4xlarge
    1        8    30  c6i.8xlarge c6i.12xlarge c6a.4xlarge c6a.8xlarge c6a.12xlarge c6g.4xlarge
    1        8    30  c6g.8xlarge c6g.12xlarge c7i.8xlarge c7i.12xlarge c7a.4xlarge c7a.8xlarge
    1        8    30  c7a.12xlarge c7g.4xlarge c7g.8xlarge c7g.12xlarge c7i-flex.4xlarge
    1        8    30  c7i-flex.8xlarge c7i-flex.12xlarge c8g.4xlarge c8g.8xlarge c8g.12xlarge
    1        8    30  r5.4xlarge r5.8xlarge r5.12xlarge r5a.4xlarge r5a.8xlarge r5a.12xlarge
    1        8    30  r6i.4xlarge r6i.8xlarge r6i.12xlarge r6a.4xlarge r6a.8xlarge r6a.12xlarge
    1        8    30  r6g.4xlarge r6g.8xlarge r6g.12xlarge r7i.4xlarge r7i.8xlarge r7i.12xlarge
    1        8    30  r7a.4xlarge r7a.8xlarge r7a.12xlarge r7g.4xlarge r7g.8xlarge r7g.12xlarge
    1        8    30  r8g.4xlarge r8g.8xlarge r8g.12xlarge
    1        7    50  g5.48xlarge
    1        4    64  g7e.2xlarge g7.2xlarge
    1        4    40  m8a.2xlarge c8a.2xlarge r8a.2xlarge
    1        4    30  p5.4xlarge m8i.xlarge m8i.2xlarge m8i-flex.xlarge m8i-flex.2xlarge m9g.xlarge
    1        4    30  m9g.2xlarge c8i.xlarge c8i.2xlarge c8i-flex.xlarge c8i-flex.2xlarge c9g.xlarge
    1        4    30  c9g.2xlarge r8i.xlarge r8i.2xlarge r8i-flex.xlarge r8i-flex.2xlarge r9g.xlarge
    1        4    30  r9g.2xlarge
    1        4    20  m8a.xlarge c8a.xlarge r8a.xlarge
    1        4    15  g6e.xlarge g6e.2xlarge g6.xlarge g6.2xlarge g6f.xlarge g6f.2xlarge g5.xlarge
    1        4    15  g5.2xlarge g5g.xlarge g5g.2xlarge g4dn.8xlarge g4dn.16xlarge m7i.xlarge
    1        4    15  m7i.2xlarge m6i.xlarge m6i.2xlarge m7g.xlarge m7g.2xlarge c7i.xlarge c7i.2xlarge
    1        4    15  t3.xlarge t3.2xlarge t3a.xlarge t3a.2xlarge t4g.xlarge t4g.2xlarge m5.xlarge
    1        4    15  m5.2xlarge m5a.xlarge m5a.2xlarge m6a.xlarge m6a.2xlarge m6g.xlarge m6g.2xlarge
    1        4    15  m7a.xlarge m7a.2xlarge m7i-flex.xlarge m7i-flex.2xlarge m8g.xlarge m8g.2xlarge
    1        4    15  c5.xlarge c5.2xlarge c5a.xlarge c5a.2xlarge c6i.xlarge c6i.2xlarge c6a.xlarge
    1        4    15  c6a.2xlarge c6g.xlarge c6g.2xlarge c7a.xlarge c7a.2xlarge c7g.xlarge c7g.2xlarge
    1        4    15  c7i-flex.xlarge c7i-flex.2xlarge c8g.xlarge c8g.2xlarge r5.xlarge r5.2xlarge
    1        4    15  r5a.xlarge r5a.2xlarge r6i.xlarge r6i.2xlarge r6a.xlarge r6a.2xlarge r6g.xlarge
    1        4    15  r6g.2xlarge r7i.xlarge r7i.2xlarge r7a.xlarge r7a.2xlarge r7g.xlarge r7g.2xlarge
    1        4    15  r8g.xlarge r8g.2xlarge
    1        3    20  m8i.large m8a.large m8i-flex.large m9g.large c8i.large c8a.large c8i-flex.large
    1        3    20  c9g.large r8i.large r8a.large r8i-flex.large r9g.large
    1        3    12  t3.large t3a.large t4g.large
    1        3    10  g4dn.xlarge g4dn.2xlarge g4dn.4xlarge m7i.large m6i.large m7g.large m5.large
    1        3    10  m5a.large m6a.large m6g.large m7a.large m7i-flex.large m8g.large c5.large
    1        3    10  c5a.large c6i.large c6a.large c6g.large c7i.large c7a.large c7g.large
    1        3    10  c7i-flex.large c8g.large r5.large r5a.large r6i.large r6a.large r6g.large
    1        3    10  r7i.large r7a.large r7g.large r8g.large
    1        2    10  g6f.large
"""

EFA_CARDS = {"p6e-gb200.36xlarge": (1, 3, 5, 7, 9, 11, 13, 15)}
"""The cards with an EFA, if not all have one."""
