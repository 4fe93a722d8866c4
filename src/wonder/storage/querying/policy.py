"""What a query may read and call: allow-lists, the same for every door and for the reader's role on PostgreSQL.

Secrets, what processes ask of each other, connections of MCP servers with their credentials, records of idempotency and
the engine's own bookkeeping are on no list. A new table can't be read until it is added here.
"""

from typing import Final, Literal, TypeAlias

Dialect: TypeAlias = Literal["sqlite", "postgresql"]

# Views for people, then the tables below them: SQLite's authorizer is asked for both, and is not told reliably through
# which view a table is read (a WITH may have a view's name).
_TABLES: Final = """
    run_log token_log event_log artifact_log answer_log events logs
    runs tokens event_turns indexed_events artifacts run_groups run_branches run_loops timers event_waits inbox_items
    trigger_firings triggered_runs schedules schedule_states schedule_firings spending metrics log_records
    workspaces projects libraries workflows workflow_defs nodes transitions triggers task_defs steps action_defs
    prompt_specs artifact_types context_tables shared_context_tables query_views
"""
TABLES: Final = frozenset(_TABLES.split())
CONTEXT_PREFIXES: Final = ("context_", "contexts_")
"""How the generated tables and views of contexts are called, and nothing else."""

_SQLITE: Final = """
    abs acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow
    power radians round sign sin sinh sqrt tan tanh trunc random
    char concat concat_ws format glob hex instr length like lower ltrim octet_length printf quote replace rtrim soundex
    substr substring trim unhex unicode unistr upper
    coalesce if ifnull iif likelihood likely nullif typeof unlikely
    current_date current_time current_timestamp date datetime julianday strftime time timediff unixepoch
    avg count group_concat max median min percentile percentile_cont percentile_disc string_agg sum total
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
    -> ->> json json_array json_array_insert json_array_length json_each json_error_position json_extract
    json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote json_remove
    json_replace json_set json_tree json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_each jsonb_extract
    jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set
    jsonb_tree subtype
"""
_POSTGRES: Final = """
    abs acos acosd acosh asin asind asinh atan atan2 atand atanh cbrt ceil ceiling cos cosd cosh cot degrees div exp
    factorial floor gcd lcm ln log log10 min_scale mod pi pow power radians random round scale sign sin sind sinh sqrt
    tan tand tanh trim_scale trunc width_bucket
    ascii bit_length btrim casefold char_length character_length chr concat concat_ws convert_from convert_to decode
    encode format initcap is_normalized left length like_escape lower lpad ltrim md5 normalize octet_length overlay
    position quote_ident quote_literal quote_nullable regexp_count regexp_instr regexp_like regexp_match regexp_matches
    regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right rpad rtrim
    sha224 sha256 sha384 sha512 similar_to_escape split_part starts_with string_to_array string_to_table strpos substr
    substring to_ascii to_bin to_hex to_oct translate unistr upper
    num_nonnulls num_nulls pg_collation_for pg_column_size pg_size_pretty pg_typeof
    age clock_timestamp date date_add date_bin date_part date_subtract date_trunc extract interval isfinite
    justify_days justify_hours justify_interval make_date make_interval make_time make_timestamp make_timestamptz now
    overlaps statement_timestamp time timeofday timestamp timestamptz timetz timezone to_char to_date to_number
    to_timestamp transaction_timestamp
    bool float4 float8 int2 int4 int8 money name numeric text uuid varchar xml
    any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp every max min mode
    percentile_cont percentile_disc range_agg range_intersect_agg regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
    array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position array_positions
    array_prepend array_remove array_replace array_reverse array_sample array_shuffle array_sort array_to_string
    array_upper cardinality generate_series generate_subscripts trim_array unnest
    isempty lower_inc lower_inf range_merge tsrange tstzrange daterange int4range int8range numrange upper_inc upper_inf
    array_to_json json_agg json_agg_strict json_array_elements json_array_elements_text json_array_length
    json_build_array json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object
    json_object_agg json_object_agg_strict json_object_agg_unique json_object_agg_unique_strict json_object_keys
    json_strip_nulls json_to_record json_to_recordset json_typeof jsonb_agg jsonb_agg_strict jsonb_array_elements
    jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_concat jsonb_delete
    jsonb_delete_path jsonb_each jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path
    jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_agg_strict jsonb_object_keys
    jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query
    jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz
    jsonb_path_query_tz jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset
    jsonb_typeof row_to_json to_json to_jsonb
    gen_random_uuid uuid_extract_timestamp uuid_extract_version
"""
FUNCTIONS: Final[dict[Dialect, frozenset[str]]] = {
    "sqlite": frozenset(_SQLITE.split()),
    "postgresql": frozenset(_POSTGRES.split()),
}


def is_readable(table: str) -> bool:
    """Tell whether a table or view of Wonder's may be read by a query."""
    return table in TABLES or table.startswith(CONTEXT_PREFIXES)


def refused_table(table: str) -> str:
    """Say that a table can't be read, and what can."""
    return f"{table!r} can't be read by a query; `wonder query --tables` lists what can be"


def refused_function(function: str) -> str:
    """Say that a function can't be used, and which can."""
    return f"the function {function!r} can't be used in a query; `wonder query --functions` lists those that can"
