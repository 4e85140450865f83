"""What the use cases work with. Built once per process by `app.bootstrap` and passed as a plain argument."""

from dataclasses import dataclass, field

from app.queue import TaskQueue
from app.refused import RefusedTasks
from app.settings import Settings
from app.store.commit import Committer
from app.store.engine import Engine
from app.store.trouble import FullDisk
from app.teller import Teller
from app.usecases.claiming import Claimer


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    engine: Engine
    claimer: Claimer
    committer: Committer
    tasks: TaskQueue
    refused: RefusedTasks
    teller: Teller
    full_disk: FullDisk = field(default_factory=FullDisk)
