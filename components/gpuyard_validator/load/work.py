"""The kinds of work: each warms up, repeats, is timed by the GPU's clock, and has its result checked."""

import time
from collections.abc import Callable, Iterator
from statistics import median

from gpuyard_validator.load.cuda import CudaCard, NoLibrary
from gpuyard_validator.load.pattern import (
    FLOAT,
    HALF,
    Matrix,
    Product,
    forward,
    input_gradient,
    matrices,
    weight_gradient,
)
from gpuyard_validator.load.record import LoadPlan, Rate, Task

_PATTERN = bytes((n * 7 + (n >> 8) * 13) & 255 for n in range(1 << 16))
"""The source of copies, repeated over the whole buffer: all its pages differ."""
_WORD = 4
_LOOKS = 10


def measure_rates(card: CudaCard, task: Task, todo: LoadPlan) -> Iterator[Rate]:
    """The result of one kind of work. If a call fails, memory is freed with the process."""
    kinds: dict[Task, Callable[[CudaCard, LoadPlan], Iterator[Rate]]] = {
        Task.MEMORY: _memory,
        Task.TO_DEVICE: _to_device,
        Task.TO_HOST: _to_host,
        Task.PEERS: _peers,
        Task.MATMUL: _product,
        Task.STEP: _step,
    }
    try:
        yield from kinds[task](card, todo)
    except NoLibrary:
        card.free()
        raise
    card.free()


def _repeated(card: CudaCard, work: Callable[[], None], todo: LoadPlan) -> list[float]:
    """Seconds of each round; the first batch warms up clocks and links, and is not counted."""
    card.timed(work, todo.rounds)
    until, result = time.monotonic() + todo.seconds, card.timed(work, todo.rounds)
    while time.monotonic() < until:
        result += card.timed(work, todo.rounds)
    return result


def _rate(
    task: Task, amount: float, seconds: list[float], wrong: int, other: int | None = None
) -> Rate:
    return Rate(
        task=task.value,
        other=other,
        amount=amount,
        seconds=median(seconds),
        rounds=len(seconds),
        wrong=wrong,
    )


def _filled(card: CudaCard, size: int) -> memoryview:
    """Host memory filled with the pattern."""
    view = card.host(size)
    view[:] = (_PATTERN * (size // len(_PATTERN) + 1))[:size]
    return view


def _wrong(card: CudaCard, source: int, back: memoryview, sent: memoryview) -> int:
    """The number of words that differ from their source."""
    back[:] = bytes(len(back))
    card.get(back, source, len(back))
    card.wait()
    return mismatches(back, sent)


def mismatches(got: memoryview, sent: memoryview) -> int:
    """The number of words that differ; page by page, since most pages never do."""
    step, result = len(_PATTERN), 0
    for at in range(0, len(got), step):
        one, other = bytes(got[at : at + step]), bytes(sent[at : at + step])
        if one != other:
            places = range(0, len(one), _WORD)
            result += sum(one[n : n + _WORD] != other[n : n + _WORD] for n in places)
    return result


def _memory(card: CudaCard, todo: LoadPlan) -> Iterator[Rate]:
    """Copies within GPU memory: each byte is read and written, so it counts twice. The whole buffer is checked."""
    size, part = todo.copy, todo.host
    source, target, sent = card.device(size), card.device(size), _filled(card, part)
    parts = [(at, min(part, size - at)) for at in range(0, size, part)]
    for at, length in parts:
        card.put(source + at, sent, length)
    seconds = _repeated(card, lambda: card.move(target, source, size), todo)
    back = card.host(part)
    wrong = sum(_wrong(card, target + at, back[:length], sent[:length]) for at, length in parts)
    yield _rate(Task.MEMORY, 2.0 * size, seconds, wrong)


def _to_device(card: CudaCard, todo: LoadPlan) -> Iterator[Rate]:
    target, sent = card.device(todo.host), _filled(card, todo.host)
    seconds = _repeated(card, lambda: card.put(target, sent, todo.host), todo)
    yield _rate(
        Task.TO_DEVICE, todo.host, seconds, _wrong(card, target, card.host(todo.host), sent)
    )


def _to_host(card: CudaCard, todo: LoadPlan) -> Iterator[Rate]:
    source, sent, back = card.device(todo.host), _filled(card, todo.host), card.host(todo.host)
    card.put(source, sent, todo.host)
    back[:] = bytes(todo.host)
    seconds = _repeated(card, lambda: card.get(back, source, todo.host), todo)
    yield _rate(Task.TO_HOST, todo.host, seconds, mismatches(back, sent))


def _peers(card: CudaCard, todo: LoadPlan) -> Iterator[Rate]:
    """One peer after the other: a node's switch carries each at full rate."""
    source, sent = card.device(todo.host), _filled(card, todo.host)
    card.put(source, sent, todo.host)
    for other in card.peers():
        target = card.device(todo.host, other)

        def work(target: int = target, other: int = other) -> None:
            card.send(target, other, source, todo.host)

        seconds = [*card.timed(work, todo.rounds), *card.timed(work, todo.rounds)][todo.rounds :]
        yield _rate(
            Task.PEERS,
            todo.host,
            seconds,
            _wrong(card, target, card.host(todo.host), sent),
            other=other,
        )


def _product(card: CudaCard, todo: LoadPlan) -> Iterator[Rate]:
    side = todo.side
    inputs, weights, _ = matrices(side)
    left, right = (_upload(card, each, todo) for each in (inputs, weights))
    target = card.device(side * side * FLOAT)

    def work() -> None:
        card.multiply(target, left, right, side, numbers=todo.numbers)

    seconds = _repeated(card, work, todo)
    back = card.host(side * side * FLOAT)
    yield _rate(
        Task.MATMUL,
        2.0 * side**3,
        seconds,
        _off(card, back, target, forward(inputs, weights)),
    )


def _step(card: CudaCard, todo: LoadPlan) -> Iterator[Rate]:
    """One layer's step: forward, gradients of inputs and of weights, copy of the weights.

    Checking results leaves the GPU idle for a second or so, ten times in all.
    """
    side = todo.side
    inputs, weights, gradients = matrices(side)
    operands = [_upload(card, each, todo) for each in (inputs, weights, gradients)]
    x, w, g = operands
    outs = [card.device(side * side * FLOAT) for _ in range(3)]
    copy, back = card.device(side * side * HALF), card.host(side * side * FLOAT)
    right = (
        forward(inputs, weights),
        input_gradient(gradients, weights),
        weight_gradient(inputs, gradients),
    )

    def work() -> None:
        card.multiply(outs[0], x, w, side, numbers=todo.numbers)
        card.multiply(outs[1], g, w, side, numbers=todo.numbers, right_turned=True)
        card.multiply(outs[2], x, g, side, numbers=todo.numbers, left_turned=True)
        card.move(copy, w, side * side * HALF)

    card.timed(work, todo.rounds)
    until, wrong = time.monotonic() + todo.seconds, 0
    seconds: list[float] = []
    while not seconds or time.monotonic() < until:
        look = time.monotonic() + todo.seconds / _LOOKS
        seconds += card.timed(work, todo.rounds)
        while time.monotonic() < look:
            seconds += card.timed(work, todo.rounds)
        wrong += sum(
            _off(card, back, out, expected) for out, expected in zip(outs, right, strict=True)
        )
    yield _rate(Task.STEP, 6.0 * side**3, seconds, wrong)


def _upload(card: CudaCard, matrix: Matrix, todo: LoadPlan) -> int:
    raw = matrix.raw(todo.numbers)
    view, target = card.host(len(raw)), card.device(len(raw))
    view[:] = raw
    card.put(target, view, len(raw))
    card.wait()
    return target


def _off(card: CudaCard, back: memoryview, source: int, expected: Product) -> int:
    back[:] = bytes(len(back))
    card.get(back, source, len(back))
    card.wait()
    return expected.count_wrong_elements(back)
