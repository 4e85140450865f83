"""How tasks are read. (What a lost one costs: tests/e2e/test_workers.py, test_without_redis.py.)"""

from app.messaging.queue import QUEUES, make_celery


def test_no_queue_waits_for_an_acknowledgement_and_each_has_the_binding_of_earlier_versions() -> None:
    queues = make_celery("redis://localhost/0").amqp.queues
    assert {name: queue.no_ack for name, queue in queues.items()} == dict.fromkeys(QUEUES, True)
    assert {name: (queue.exchange.name, queue.routing_key) for name, queue in queues.items()} == {
        name: (name, name) for name in QUEUES
    }
