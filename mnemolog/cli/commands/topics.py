"""`mnemolog topics`: the topics of the log."""

from mnemolog.cli.invocation import CommandFailed, Commands, Surroundings

commands = Commands()


@commands.add_local("create")
async def create(around: Surroundings) -> None:
    """Create the topics with their partitions and retention. Safe to repeat.

    A topic that has another number of partitions is refused: a user's events would be split over two of them.

    A worker does the same when it starts; with Kafka this may be done before, by whoever may create topics.
    """
    from mnemolog.log.connection import create_topics, opened_log  # noqa: PLC0415 - --help needs none of the engines
    from schemas.log import LogError  # noqa: PLC0415

    settings = around.settings()
    try:
        async with opened_log(settings) as log:
            created = await create_topics(log, settings)
    except (LogError, OSError) as error:
        raise CommandFailed(str(error)) from error
    around.output.table(("topic", "partitions"), created.items(), "there are no topics", of={"topics": created})
