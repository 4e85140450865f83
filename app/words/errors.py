"""Messages for an unavailable database, queue or worker."""

CANNOT_BE_REACHED = "The database is unavailable"
ONLY_READS = "The database is read-only"
DISK_IS_FULL = "The database cannot store anything: its disk is full"
BUSY = "The database is too busy"
NOTHING_IS_LOST = "Nothing is lost: debates continue when it recovers."
QUEUE_IS_DOWN = "The queue is down. New debates are stored and start when it recovers."
NO_WORKER = "No worker is running: start one with “debate worker”."
