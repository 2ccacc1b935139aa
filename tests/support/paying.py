"""payments.charge at the service and account that the environment names, for child processes.

CHECKREIN_CAPABILITIES=paying:charge, with this folder on PYTHONPATH.
"""

import os

from payment_account import FAST

from checkrein.adapters.payment_target import payments

SERVICE, ACCOUNT = "PAYING_SERVICE", "PAYING_ACCOUNT"

charge = payments(os.environ[SERVICE], os.environ[ACCOUNT], retry=FAST)
