"""Running a graph to its end or its next pause in one call, or many of them side by side."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeVar, Unpack, overload

from hitl.engine.ask import running_task
from hitl.engine.drive import drive, exhaust
from hitl.engine.effects import Ending
from hitl.engine.running import Version
from hitl.engine.settings import Modes, RunOptions, check_version, read_config
from hitl.engine.streams import Streams
from hitl.errors import Misuse
from hitl.values import Config, GraphOutput

__all__ = ["Invoking"]

Configs = Config | Sequence[Config] | None
T = TypeVar("T")


class Invoking(Streams):
    """The part of a compiled graph that runs it in one call; see ``CompiledStateGraph``."""

    @overload
    def invoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Literal["values"] = "values",
        version: Literal["v2"],
        **more: Unpack[RunOptions],
    ) -> GraphOutput: ...
    @overload
    def invoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "values",
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> Any: ...
    def invoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "values",
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> Any:
        """Run until the graph ends or waits for a human.

        Args:
            input: A state to begin with, a ``Command``, or None to go on where it stands.
            config: ``{"configurable": {"thread_id": ..., "reviewer"?: ...}}``.
            stream_mode: Another mode than ``"values"``, or a list of modes, gives the list of
                the parts that ``stream`` would have yielded.
            version: ``"v2"`` for a ``GraphOutput``, ``"v1"`` for a dict that also has
                ``.value`` and ``.interrupts``.
            **more: ``context`` (given to nodes as ``runtime.context``), ``output_keys`` (only
                these keys of the state, or the value of one), ``print_mode`` (stream modes
                whose parts are printed; ``debug=True`` for updates and values),
                ``interrupt_before``, ``interrupt_after``, ``durability`` (every run is
                ``"sync"``), ``on_unknown`` (``"tell_model"`` lets new input close calls whose
                outcome is not known), ``wait`` (seconds to wait where another run holds the
                thread, before ``Busy``).

        Returns:
            The output and what waits, see ``version``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        if stream_mode != "values":
            return list(
                self.stream(input, config, stream_mode=stream_mode, version=version, **more)
            )
        check_version(version)
        run = self._run(input, config, (), more)
        parts = drive(run.steps, run.desk, run.settings.max_concurrency)
        ending = exhaust(parts) if run.watch is None else self._telling(run, run.watch, parts)
        return self._result(run, ending, version)

    @overload
    async def ainvoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Literal["values"] = "values",
        version: Literal["v2"],
        **more: Unpack[RunOptions],
    ) -> GraphOutput: ...
    @overload
    async def ainvoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "values",
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> Any: ...
    async def ainvoke(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "values",
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> Any:
        """Run on an event loop; see ``invoke``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        from hitl.engine.adrive import adrive

        if stream_mode != "values":
            told = self.astream(input, config, stream_mode=stream_mode, version=version, **more)
            return [part async for part in told]
        check_version(version)
        run = self._run(input, config, (), more)
        parts = adrive(run.steps, run.desk, run.settings.max_concurrency)
        ending: object = None
        try:
            async for part in parts:
                ending = part
                if run.watch is not None and not isinstance(part, Ending):
                    await run.watch.atell(self._told(run, part))
        finally:
            await parts.aclose()
        assert isinstance(ending, Ending)
        return self._result(run, ending, version)

    def batch(
        self,
        inputs: Sequence[object],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> list[Any]:
        """Run several inputs side by side, as many as the config's ``max_concurrency`` says.

        Inside a node they run one after the other, so that questions in them keep their order.

        Args:
            inputs: What each run begins with.
            config: One config for all, or one for each.
            return_exceptions: Whether an error stands in the list in place of its run's result;
                otherwise the first one is raised when all have ended.
            version: See ``invoke``.
            **more: See ``invoke``.

        Returns:
            The results, in the order of the inputs.

        Raises:
            HitlError: Wrong use, or see ``invoke``.
        """
        from concurrent.futures import ThreadPoolExecutor

        configs = _each(inputs, config)
        calls: list[Callable[[], Any]] = [
            partial(self.invoke, one, own, version=version, **more)
            for one, own in zip(inputs, configs, strict=True)
        ]
        size = min(len(calls), _side_by_side(self._given(configs[0]))) if calls else 1
        if self._inside() or size == 1:
            return [_outcome(call, keep=return_exceptions) for call in calls]
        with ThreadPoolExecutor(size, thread_name_prefix="hitl-batch") as pool:
            todo = [pool.submit(contextvars.copy_context().run, call) for call in calls]
        return [_outcome(one.result, keep=return_exceptions) for one in todo]

    async def abatch(
        self,
        inputs: Sequence[object],
        config: Configs = None,
        *,
        return_exceptions: bool = False,
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> list[Any]:
        """Run several inputs side by side on an event loop; see ``batch``.

        Raises:
            HitlError: Wrong use, or see ``invoke``.
        """
        import asyncio

        configs = _each(inputs, config)
        room = asyncio.Semaphore(_side_by_side(self._given(configs[0])) if configs else 1)

        async def one(input: object, own: Config | None) -> Any:
            async with room:
                try:
                    return await self.ainvoke(input, own, version=version, **more)
                except Exception as error:
                    if not return_exceptions:
                        raise
                    return error

        pairs = list(zip(inputs, configs, strict=True))
        if self._inside():
            return [await one(input, own) for input, own in pairs]
        runs = [one(input, own) for input, own in pairs]
        found = await asyncio.gather(*runs, return_exceptions=not return_exceptions)
        for result in () if return_exceptions else found:
            if isinstance(result, BaseException):
                raise result
        return found

    def _inside(self) -> bool:
        """Return whether runs begun here join the run of a task."""
        return self.checkpointer is None and running_task() is not None


def _each(inputs: Sequence[object], config: Configs) -> Sequence[Config | None]:
    if config is None or isinstance(config, Mapping):
        return [config] * len(inputs)
    if len(config) != len(inputs):
        raise Misuse(
            f"There are {len(inputs)} inputs and {len(config)} configs.",
            hint="Give one config for all, or one for each.",
        )
    return config


def _side_by_side(config: Config | None) -> int:
    return read_config(config, saved=False).max_concurrency


def _outcome(call: Callable[[], T], *, keep: bool) -> T | Exception:
    try:
        return call()
    except Exception as error:
        if not keep:
            raise
        return error
