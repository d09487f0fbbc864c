"""The forms of Lineage files: which fields a module and a source have, and what each may hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictFloat, StrictInt, model_validator

from dwh_assets.config.form import Form
from dwh_assets.config.lineage_fields import (
    BatchName,
    Column,
    Count,
    DailyWindow,
    Distinct,
    Duration,
    Flag,
    Frequency,
    FunctionName,
    ModuleName,
    OffsetStart,
    PositiveDuration,
    Priority,
    Processor,
    Relation,
    SchemaVersion,
    Shard,
    Start,
    Table,
    Text,
    Timezone,
    Transform,
    Variable,
    VersionPlace,
)
from dwh_assets.config.parameter_forms import ParameterForm, Parameters
from dwh_assets.model.batch import BatchKind
from dwh_assets.model.module import Severity

Number = StrictInt | StrictFloat
Ratio = Annotated[float, Field(ge=0, le=1)]
Columns = Annotated[list[Column], Field(min_length=1), Distinct]
Consequence = Annotated[Severity, Field(description="error: a failure parks the block; warn: it is loaded, and told of")]


class ColumnsForm(Form):
    """The checks `not_null` and `unique`; a list alone means its columns."""

    columns: Columns = Field(description="not_null: each of them; unique: all of them together, within the block")
    severity: Consequence = "error"


class NullRatioForm(Form):
    """The check `null_ratio`: how many rows of a block may lack a value."""

    column: Column = Field(description="the column that is looked at")
    max: Ratio = Field(description="greatest share of its rows that may be null")
    severity: Consequence = "error"


class RowsForm(Form):
    """The check `rows`: how many rows a block gives; at least one bound."""

    min: Annotated[StrictInt, Field(ge=0)] | None = Field(None, description="least rows of a block")
    max: Annotated[StrictInt, Field(ge=0)] | None = Field(None, description="most rows of a block")
    min_ratio: Annotated[float, Field(ge=0)] | None = Field(None, description="least rows out for each base row in")
    max_ratio: Annotated[float, Field(ge=0)] | None = Field(None, description="most rows out for each base row in")
    severity: Consequence = "error"

    @property
    def given(self) -> tuple[str, ...]:
        return tuple(name for name in ("min", "max", "min_ratio", "max_ratio") if getattr(self, name) is not None)

    @model_validator(mode="after")
    def bounds(self) -> RowsForm:
        if not self.given:
            raise ValueError("has no bound; give at least one of min, max, min_ratio, max_ratio")
        for low, high in ((self.min, self.max), (self.min_ratio, self.max_ratio)):
            if low is not None and high is not None and low > high:
                raise ValueError(f"its least value {low} is above its greatest {high}; swap them")
        return self


class ExpectForm(Form):
    """The check `expect`: a rule of one's own."""

    name: Column = Field(description="what the check is called; with `expect_` before it")
    predicate: Text = Field(description="SQL that is true for a row as it should be")
    min_ratio: Ratio = Field(1.0, description="least share of the rows that must meet it")
    severity: Consequence = "error"


def _as_columns(value: Any) -> Any:
    return {"columns": value} if isinstance(value, list) else value


ListOrColumns = Annotated[ColumnsForm, BeforeValidator(_as_columns, json_schema_input_type=list[Column] | ColumnsForm)]


class DeadLettersForm(Form):
    """The check `dead_letters` of an ingest module: how many events of a block may be impossible to load; at least one bound."""

    max: Annotated[StrictInt, Field(ge=0)] | None = Field(None, description="most dead letters of a block")
    max_ratio: Ratio | None = Field(None, description="greatest share of dead letters among the events of a block")
    severity: Consequence = "error"

    @model_validator(mode="after")
    def bounds(self) -> DeadLettersForm:
        if self.max is None and self.max_ratio is None:
            raise ValueError("has no bound; give at least one of max, max_ratio")
        return self


class CheckForm(Form):
    """One entry of `checks`: exactly one of its fields."""

    not_null: ListOrColumns | None = Field(None, description="these columns have a value in every row")
    null_ratio: NullRatioForm | None = Field(None, description="a column lacks a value in few rows at most")
    rows: RowsForm | None = Field(None, description="a block gives so many rows")
    unique: ListOrColumns | None = Field(None, description="no two rows of a block are equal in these columns")
    expect: ExpectForm | None = Field(None, description="rows meet a predicate")
    dead_letters: DeadLettersForm | None = Field(None, description="ingest only: few events cannot be loaded")

    @model_validator(mode="after")
    def exactly_one(self) -> CheckForm:
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError("each entry holds exactly one check; allowed are " + ", ".join(type(self).model_fields))
        return self


class ActionForm(Form):
    """One entry of `before` and `after`; a text alone is its SQL."""

    sql: Text = Field(description="one statement: CREATE TEMPORARY VIEW, or a write")
    idempotent: Flag = Field(False, description="true: it is a write, and you say that it may run more than once")


def _as_action(value: Any) -> Any:
    return {"sql": value} if isinstance(value, str) else value


ActionEntry = Annotated[ActionForm, BeforeValidator(_as_action, json_schema_input_type=str | ActionForm)]


class ModuleForm(Form):
    """`lineage/<area>/<table>.yaml`, one file each: how one table, or one #tag of it, is built."""

    table: ModuleName = Field(description="db.table, or db.table#tag for one of several pipelines into it")
    description: Text = Field("", description="what one row means for the business")
    owner: Text | None = Field(None, description="who answers for the table")
    comment: Text = Field("", description="a note for the people who maintain this file")
    active: Flag = Field(True, description="false: its topics do not run")
    depends_on: Annotated[list[Table], Field(min_length=1), Distinct] = Field(
        description="tables waited for; the first is the base table, whose rows make the blocks"
    )
    reads: Annotated[list[Table], Distinct] = Field([], description="tables read without waiting for them")
    processor: Processor = Field(
        "step", description="step, reload, range, upsert, history, one_day_step, ingest or package.module:Class"
    )
    transforms: Annotated[list[Transform], Field(min_length=1), Distinct] | None = Field(
        None, description="put together by name; default db/table.sql or db/table_tag.sql below sql/transforms/"
    )
    before: list[ActionEntry] = Field([], description="temporary views made before the transforms of each block")
    after: list[ActionEntry] = Field([], description="temporary views or idempotent writes after the transforms of each block")
    position: Annotated[list[Column], Field(min_length=2, max_length=2), Distinct] | None = Field(
        None, description="the base table's position columns; default [pos, id], or those of the source"
    )
    start: Start = Field("earliest", description="earliest, now or a timestamp with its zone; a date alone means midnight UTC")
    delay: Duration = Field(timedelta(), description="how long the newest rows wait; not of ingest")
    repeat: Duration = Field(
        timedelta(hours=1), description="least time between two runs; a topic that is behind does not wait; of ingest 1s"
    )
    promise: PositiveDuration | None = Field(
        None, description="a greater lag raises an alert, once, until the topic has caught up; longer than delay plus repeat"
    )
    keep: PositiveDuration | None = Field(
        None,
        description="step, one_day_step, range, ingest: blocks with an older pos go once nobody needs them; default never",
    )
    maxstep: Count = Field(1_000_000, description="rows of a block; of ingest 100000")
    stretch: Count = Field(16, description="how many times larger a block may be while the topic is behind")
    ahead: Count = Field(20, description="blocks planned ahead of the cursor")
    attempts: Count = Field(3, description="attempts at a block before it is parked")
    backoff: Duration = Field(timedelta(seconds=10), description="pause after the first failure; it doubles")
    span: PositiveDuration | None = Field(None, description="range only: time that a block covers")
    time: DailyWindow | None = Field(None, description="daily window HH:MM-HH:MM; it may cross midnight")
    timezone: Timezone = Field("UTC", description="IANA zone of the window and of days")
    shards: Annotated[list[Shard], Field(min_length=1), Distinct] | None = Field(
        None, description="one cursor for each of these values of shard_by"
    )
    shard_by: Column | None = Field(None, description="the base table's column that holds the shard")
    key: Columns | None = Field(None, description="upsert and history, which need it: columns that identify a row")
    deleted: Text | None = Field(None, description="upsert only: predicate on an output row that deletes its key")
    columns: dict[Column, Text] = Field({}, description="column -> what it means")
    checks: list[CheckForm] = Field([], description="blocking unless their severity is warn")
    measures: dict[Column, Text] = Field({}, description="name -> SQL aggregate, logged for each block")
    expect: dict[Column, Text] = Field({}, description="name -> SQL row predicate, counted for each block")
    parameters: Parameters = Field({}, description="name -> typed value, read as {{ param.name }}; before those for all")
    allow_truncate: Flag = Field(False, description="true: dwh rollback --all may empty the table")
    priority: Priority = Field(0, description="who comes first where workers are few: a step counts as a minute of waiting")
    audit: Literal["heal", "alert", "off"] = Field(
        "heal",
        description="a block whose base rows were changed is loaded again, and told; alert: only told; off: not looked for",
    )


class SecurityForm(Form):
    """How a broker is spoken to."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="with a user: SASL; encrypted: SSL"
    )
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(None, description="SASL only")
    username_env: Variable | None = Field(None, description="SASL only: environment variable with the user's name")
    password_env: Variable | None = Field(None, description="SASL only: environment variable with the password")
    ca_file: Text | None = Field(None, description="SSL only: PEM file of the authorities that are trusted, in the project")
    certificate_file: Text | None = Field(None, description="SSL only: PEM file of the client's certificate")
    key_file: Text | None = Field(None, description="SSL only: PEM file of the client's key, not encrypted")

    @model_validator(mode="after")
    def complete(self) -> SecurityForm:
        sasl = (self.mechanism, self.username_env, self.password_env)
        if self.protocol.startswith("SASL") and None in sasl:
            raise ValueError(f"protocol {self.protocol} needs mechanism, username_env and password_env")
        if not self.protocol.startswith("SASL") and any(sasl):
            raise ValueError(f"protocol {self.protocol} has no user; write SASL_SSL or SASL_PLAINTEXT")
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("certificate_file and key_file go together")
        return self


class KafkaForm(Form):
    """Where the events of a Kafka source come from."""

    topic: Text = Field(description="the topic on the broker")
    brokers: Annotated[list[Text], Field(min_length=1), Distinct] | None = Field(
        None, description="host:port of some; default DWH_KAFKA_BOOTSTRAP, else the broker of `dwh kafka up`"
    )
    start: OffsetStart = Field(
        "earliest", description="earliest, latest or a timestamp with its zone: where the first block begins"
    )
    security: SecurityForm | None = Field(None, description="SASL and TLS; default neither")
    options: dict[Text, Text] = Field({}, description="further settings of Kafka clients, passed on as they are; no secrets")


class FolderForm(Form):
    """Where the files of a source lie."""

    path: Text = Field(description="a folder; relative to the project's")
    pattern: Text = Field("*", description="which files of it, such as orders_*.csv")
    settle: Duration = Field(timedelta(seconds=5), description="a file that changed less than this ago may still be written to")
    header: Flag = Field(True, description="csv only: the first line names the columns")
    delimiter: Annotated[Text, Field(min_length=1, max_length=1)] = Field(",", description="csv only")


class EventsForm(Form):
    """What events look like and how they are told apart."""

    format: Literal["json", "avro", "protobuf", "csv", "parquet"] = Field(
        description="kafka: json, avro or protobuf; files: csv or parquet"
    )
    schemas: Annotated[dict[SchemaVersion, Text], Field(min_length=1)] = Field(
        description="version -> file below lineage/: JSON Schema (also for csv and parquet), Avro schema or descriptor set"
    )
    message: Text | None = Field(None, description="protobuf only: the message, with its package")
    version_in: VersionPlace | None = Field(
        None, description="header:NAME, field:NAME or confluent (wire format); may be left out where there is one version"
    )
    key: Annotated[list[Column], Distinct] = Field(
        [], description="fields that make an event the same one; without them nothing is deduplicated"
    )
    event_time: Column | None = Field(
        None, description="the field that says when it happened; default the time of the record or file"
    )
    retention: PositiveDuration = Field(timedelta(days=7), description="how long the broker keeps events")
    replay: Duration = Field(timedelta(days=1), description="the longest time after which a producer sends an event again")
    dedup_age: PositiveDuration | None = Field(
        None, description="events older than this are dead letters; default an hour above retention + replay"
    )
    unknown_fields: Literal["refuse", "ignore"] = Field(
        "refuse", description="json, csv, parquet: fields that no version has; ignore leaves them out"
    )
    evolution: Literal["additive", "none"] = Field("additive", description="none: a new version may add no columns")


class SourceForm(Form):
    """`lineage/sources/*.yaml`, one or a list in a file: a table that is not built here."""

    name: Table = Field(description="db.table, as modules name it")
    kind: Literal["iceberg", "postgres", "kafka", "files"] = Field(description="where its rows are")
    kafka: KafkaForm | None = Field(None, description="kafka only: broker and topic")
    files: FolderForm | None = Field(None, description="files only: the folder")
    events: EventsForm | None = Field(None, description="kafka and files: what they hold")
    description: Text = Field("", description="what one row means for the business")
    position: Annotated[list[Column], Field(min_length=2, max_length=2), Distinct] = Field(
        ["pos", "id"], description="its position columns: an instant with time zone, and an integer or decimal(20,0)"
    )
    delay: Duration = Field(timedelta(), description="rows may become visible this long after their pos")
    idle_after: PositiveDuration | None = Field(None, description="after this time without new rows the clock is its watermark")
    relation: Relation | None = Field(None, description="postgres only: schema.table there; default its name")
    url_env: Variable | None = Field(
        None, description="postgres only: environment variable with its URL; default the control database"
    )
    horizon: Literal["transaction_start", "delay"] = Field(
        "transaction_start",
        description="postgres only: rows are complete up to the oldest open transaction, if now() sets pos; delay: if others do",
    )
    shards: Annotated[list[Shard], Field(min_length=1), Distinct] | None = Field(
        None, description="iceberg and postgres: those that the table has"
    )
    shard_by: Column | None = Field(None, description="the column that holds the shard")
    active: Flag = Field(True, description="false: it is not looked at, and counts as unknown")


class CommandForm(Form):
    """`lineage/<area>/<name>.yaml` with `module`: a module that is no table, but a script or a function that a batch runs."""

    module: ModuleName = Field(description="its name, as batches list it, such as ops.refresh_rates")
    command: Annotated[list[Text], Field(min_length=1)] | None = Field(
        None, description="the words of the command; it runs in the project's folder"
    )
    python: FunctionName | None = Field(None, description="package.module:function, imported from the project's folder")
    description: Text = Field("", description="what it does")
    owner: Text | None = Field(None, description="who answers for it")
    depends_on: Annotated[list[ModuleName], Distinct] = Field([], description="modules of the same batch that come first")
    timeout: PositiveDuration = Field(timedelta(hours=1), description="after this time it is ended and has failed")
    active: Flag = Field(True, description="false: it does not run")

    @model_validator(mode="after")
    def one_of_two(self) -> CommandForm:
        if (self.command is None) == (self.python is None):
            raise ValueError("says what to run by exactly one of command and python")
        return self


class ModuleLink(Form):
    """One entry of a batch's `modules`; a name alone is an active one."""

    module: ModuleName = Field(description="a module or a command")
    active: Flag = Field(True, description="false: passed over in this batch, and written down as Cancelled")


class BatchLink(Form):
    """One entry of a batch's `batches`; a name alone is an active one."""

    batch: BatchName = Field(description="another batch")
    active: Flag = Field(True, description="false: passed over in this batch, and written down as Cancelled")


def _as_module_link(value: Any) -> Any:
    return {"module": value} if isinstance(value, str) else value


def _as_batch_link(value: Any) -> Any:
    return {"batch": value} if isinstance(value, str) else value


ModuleLinks = list[Annotated[ModuleLink, BeforeValidator(_as_module_link, json_schema_input_type=str | ModuleLink)]]
BatchLinks = list[Annotated[BatchLink, BeforeValidator(_as_batch_link, json_schema_input_type=str | BatchLink)]]


class BatchForm(Form):
    """`lineage/batches/<name>.yaml`: a group of modules that is run as a job."""

    batch: BatchName = Field(description="its name")
    description: Text = Field("", description="what it is for")
    kind: BatchKind = Field(
        "STANDARD",
        description="STANDARD: by dependencies, goes on after a failure; MAINTENANCE: in its own order, stops at one",
    )
    modules: Annotated[ModuleLinks, Distinct] = Field(
        [], description="names, or {module, active: false} to pass one over; in their order if it is MAINTENANCE"
    )
    batches: Annotated[BatchLinks, Distinct] = Field(
        [], description="batches that are part of it; they come first, in this order"
    )
    frequency: Frequency | None = Field(None, description="cron expression; without it only when it is asked for")
    timezone: Timezone = Field("UTC", description="of the frequency and the window")
    time: DailyWindow | None = Field(None, description="daily window HH:MM-HH:MM; a run outside of it is cancelled")
    after: Annotated[list[BatchName], Distinct] = Field([], description="it starts when all of these have succeeded")
    retries: Count = Field(3, description="attempts in all at each of its modules")
    parameters: Parameters = Field({}, description="values that hold in its runs, of parameters that are declared for all")
    active: Flag = Field(True, description="false: it does not run")


def lineage_schema() -> dict[str, Any]:
    """JSON schema of Lineage files for editors: a module, a command, sources, a batch, or the parameters for all."""
    forms = {"module": ModuleForm, "command": CommandForm, "source": SourceForm, "batch": BatchForm}
    schemas = {name: form.model_json_schema(ref_template="#/$defs/{model}") for name, form in forms.items()}
    definitions = {name: part for schema in schemas.values() for name, part in schema.pop("$defs", {}).items()}
    parameter = ParameterForm.model_json_schema(ref_template="#/$defs/{model}")
    definitions |= schemas | {"parameters": {"type": "object", "additionalProperties": parameter}}
    source_ref = {"$ref": "#/$defs/source"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lineage file",
        "anyOf": [*({"$ref": f"#/$defs/{name}"} for name in (*forms, "parameters")), {"type": "array", "items": source_ref}],
        "$defs": definitions,
    }
