"""What a runtime is made of besides its registry and its store."""

from typing import Any

from msgspec import Struct, field

from groundwire.contracts.audit import Chain
from groundwire.contracts.jobs import Jobs
from groundwire.contracts.ports import Checkpoints, Clock, Flags, Ids, Telemetry, TokenEstimator, TrustPolicy
from groundwire.contracts.schema_limits import DEFAULT_SCHEMA_LIMITS, SchemaLimits
from groundwire.runtime.clock import CharsPerFour, EnvironmentFlags, RandomIds, SystemClock
from groundwire.runtime.dispatcher import StepHook
from groundwire.runtime.ledger import LedgerTimes
from groundwire.runtime.policies.limits import Policies
from groundwire.runtime.policies.self_approval import ApprovalSettings
from groundwire.runtime.state import Reducer


class RuntimeParts(Struct, kw_only=True):
    """All have defaults; `assembly` chooses those that a settings file can change."""

    policies: Policies = field(default_factory=Policies)
    times: LedgerTimes = field(default_factory=LedgerTimes)
    approvals: ApprovalSettings = field(default_factory=ApprovalSettings)
    reducers: dict[str, Reducer] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)
    flags: Flags = field(default_factory=EnvironmentFlags)
    estimator: TokenEstimator = field(default_factory=CharsPerFour)
    chain: Chain = field(default_factory=Chain)
    checkpoints: Checkpoints | None = None
    system_prompt: str = ""
    on_step: StepHook | None = None
    telemetry: Telemetry | None = None
    trust: TrustPolicy | None = None
    jobs: Jobs | None = None
    schema_limits: SchemaLimits = DEFAULT_SCHEMA_LIMITS
