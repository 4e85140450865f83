"""The database, the queue and the workers, where they are not there."""

CANNOT_BE_REACHED = "The database cannot be reached at the moment"
ONLY_READS = "The database is read-only at the moment"
DISK_IS_FULL = "The database cannot store anything at the moment: its disk is full"
BUSY = "The database is too busy at the moment"
NOTHING_IS_LOST = "Nothing is lost: debates continue when it recovers."
QUEUE_IS_DOWN = "The queue is down. New debates are stored and start when it recovers."
NO_WORKER = "No worker is running: start one with “debate worker”."
