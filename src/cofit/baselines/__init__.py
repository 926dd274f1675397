"""The methods that cofit is compared with, in the clear; each with the guarantee that it really has.

They are for comparisons. Their noise is floating point, whose digits can give data away, and whoever runs them sees
all data: release nothing that they compute from real people's records. (``averaged_in_mpc`` is one of them as a real
protocol, with the mechanisms of ``cofit.privacy``.) Why each guarantee holds is in ``proofs.md``.
"""
