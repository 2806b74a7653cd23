"""Streams of a run: plain parts, and runs that are read by what they hold."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, Any, Unpack

from hitl.engine.drive import drive
from hitl.engine.effects import Ending
from hitl.engine.running import Run, Runner, Version
from hitl.engine.settings import Modes, RunOptions, read_config, read_options
from hitl.engine.streaming import Form, read_form
from hitl.engine.watch import Reader, Told
from hitl.values import Config

if TYPE_CHECKING:
    from hitl.engine.aevents import AsyncRunStream
    from hitl.engine.channel import Channel
    from hitl.engine.events import RunStream

__all__ = ["Streams"]


class Streams(Runner):
    """The part of a compiled graph that tells what happens; see ``CompiledStateGraph``."""

    def stream(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "updates",
        subgraphs: bool = False,
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> Generator[Any, None, None]:
        """Run, and yield what happens as it happens.

        Args:
            input: See ``invoke``.
            config: See ``invoke``.
            stream_mode: ``"values"`` (the state after each step), ``"updates"`` (what each
                node wrote), ``"messages"`` (messages, piece by piece where the model can:
                ``(piece, metadata)``), ``"custom"`` (what nodes write with
                ``runtime.stream_writer``), ``"checkpoints"``, or a list of these, which yields
                ``(mode, data)``. The pieces and the custom parts come while the node runs; a
                slow reader slows the run.
            subgraphs: Whether runs inside nodes are told as well: ``(namespace, data)``.
            version: ``"v2"`` yields ``{"type", "ns", "data"}`` instead.
            **more: See ``invoke``.

        Yields:
            Parts as said; a pause shows as ``{"__interrupt__": (Interrupt, ...)}``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        form = read_form(stream_mode, version, subgraphs=subgraphs)
        return self._stream(input, config, form, more)

    async def astream(
        self,
        input: object,
        config: Config | None = None,
        *,
        stream_mode: Modes = "updates",
        subgraphs: bool = False,
        version: Version = "v1",
        **more: Unpack[RunOptions],
    ) -> AsyncGenerator[Any, None]:
        """Run on an event loop, and yield what happens as it happens; see ``stream``.

        Raises:
            HitlError: Wrong use; nothing has run then. Or what a node raised.
        """
        parts = self._astream(
            input, config, read_form(stream_mode, version, subgraphs=subgraphs), more
        )
        try:
            async for part in parts:
                yield part
        finally:
            await parts.aclose()

    def stream_events(
        self,
        input: object,
        config: Config | None = None,
        *,
        version: str = "v3",
        **more: Unpack[RunOptions],
    ) -> RunStream:
        """Return a run to be read by what it holds: its messages, its values, its pauses.

        Nothing runs until something of it is read.

        Args:
            input: See ``invoke``.
            config: See ``invoke``.
            version: ``"v3"``.
            **more: See ``invoke``.

        Raises:
            HitlError: Wrong use.
        """
        from hitl.engine.events import RunStream
        from hitl.engine.fold import check_events

        check_events(version, more)
        read_config(self._given(config), saved=self.checkpointer is not None)
        read_options(more)
        return RunStream(lambda form: self._stream(input, config, form, more))

    async def astream_events(
        self,
        input: object,
        config: Config | None = None,
        *,
        version: str = "v3",
        **more: Unpack[RunOptions],
    ) -> AsyncRunStream:
        """Return a run to be read on an event loop; see ``stream_events``.

        Raises:
            HitlError: Wrong use.
        """
        from hitl.engine.aevents import AsyncRunStream
        from hitl.engine.fold import check_events

        check_events(version, more)
        read_config(self._given(config), saved=self.checkpointer is not None)
        read_options(more)
        return AsyncRunStream(lambda form: self._astream(input, config, form, more))

    # Driving ----------------------------------------------------------------------------------

    def _stream(
        self, input: object, config: Config | None, form: Form, more: RunOptions
    ) -> Generator[Any, None, None]:
        if not form.early:
            return self._parts(self._run(input, config, form.modes, more), form)
        from hitl.engine.channel import Channel

        channel = Channel()
        reader = Reader((), frozenset(form.modes), form.subgraphs, channel)
        return self._early(self._run(input, config, (), more, reader=reader), channel, form)

    def _early(self, run: Run, channel: Channel, form: Form) -> Generator[Any, None, None]:
        """Drive a run in a thread, so that what a node tells is read while it still runs."""
        from hitl.engine.channel import early, until_left

        stopping = run._replace(steps=until_left(run.steps, channel))
        parts = self._parts(stopping, Form(()))
        return early(channel, lambda: deque(parts, 0), form.shown)

    def _parts(self, run: Run, form: Form) -> Generator[Any, None, None]:
        """Drive a run in place, and tell those who watch it and the caller."""
        parts = drive(run.steps, run.desk, run.settings.max_concurrency)
        try:
            while True:
                try:
                    part = next(parts)
                except StopIteration as stop:
                    self._hold(run, stop.value)
                    self._keep(run, stop.value)
                    return
                told = self._told(run, part)
                if run.watch is not None:
                    run.watch.tell(told)
                if told.mode in form.modes:
                    yield form.shown(told)
        finally:
            parts.close()  # a stream that is left early gives the lease back

    async def _astream(
        self, input: object, config: Config | None, form: Form, more: RunOptions
    ) -> AsyncGenerator[Any, None]:
        if form.early:
            from hitl.engine.achannel import AsyncChannel, aearly

            channel = AsyncChannel()
            reader = Reader((), frozenset(form.modes), form.subgraphs, channel)
            parts = aearly(channel, self._aparts(self._run(input, config, (), more, reader=reader)))
        else:
            parts = self._aparts(self._run(input, config, form.modes, more))
        try:
            async for told in parts:
                if told.mode in form.modes:
                    yield form.shown(told)
        finally:
            await parts.aclose()

    async def _aparts(self, run: Run) -> AsyncGenerator[Told, None]:
        """Drive a run on the event loop, and tell those who watch it and the caller."""
        from hitl.engine.adrive import adrive

        parts = adrive(run.steps, run.desk, run.settings.max_concurrency)
        try:
            async for part in parts:
                if isinstance(part, Ending):
                    self._hold(run, part)
                    self._keep(run, part)
                    return
                told = self._told(run, part)
                if run.watch is not None:
                    await run.watch.atell(told)
                yield told
        finally:
            await parts.aclose()
