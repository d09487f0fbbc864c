"""Spark's built-in functions that transforms may call: pure ones, reviewed. What is not listed is refused."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATES = _words("""
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bitmap_construct_agg
    bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch covar_pop covar_samp every
    first first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kurtosis last last_value listagg max
    max_by mean median min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp
    string_agg sum try_avg try_sum var_pop var_samp variance
""")

WINDOWS = _words("cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number")

TABLE_FUNCTIONS = _words("""
    explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple range variant_explode
    variant_explode_outer
""")

_MATHS = _words("""
    abs acos acosh asin asinh atan atan2 atanh bin bit_count bit_get bitmap_bit_position bitmap_bucket_number bitmap_count
    bround cbrt ceil ceiling conv cos cosh cot csc degrees div e exp expm1 factorial floor getbit greatest hex hypot least ln
    log log10 log1p log2 mod negative pi pmod positive pow power radians rint round sec shiftleft shiftright
    shiftrightunsigned sign signum sin sinh sqrt tan tanh try_add try_divide try_mod try_multiply try_subtract unhex
    width_bucket
""")

_TEXT = _words("""
    ascii base64 bit_length btrim char char_length character_length chr collate collation concat concat_ws contains decode elt
    encode endswith find_in_set format_number format_string initcap instr is_valid_utf8 lcase left len length levenshtein
    locate lower lpad ltrim luhn_check make_valid_utf8 mask octet_length overlay parse_url position printf quote regexp
    regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace
    reverse right rlike like ilike rpad rtrim sentences soundex space split split_part startswith substr substring
    substring_index to_binary to_char to_number to_varchar translate trim try_parse_url try_to_binary try_to_number
    try_url_decode try_validate_utf8 ucase unbase64 upper url_decode url_encode validate_utf8
""")

_TIME = _words("""
    add_months convert_timezone curdate current_date current_time current_timestamp current_timezone date date_add date_diff
    date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek
    dayofyear extract from_unixtime from_utc_timestamp hour last_day localtimestamp make_date make_dt_interval make_interval
    make_time make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month monthname months_between
    next_day now quarter second session_window timediff timestamp timestamp_micros timestamp_millis timestamp_seconds
    timestampadd timestampdiff to_date to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp
    to_utc_timestamp trunc try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_to_date
    try_to_time try_to_timestamp unix_date unix_micros unix_millis unix_seconds unix_timestamp weekday weekofyear window
    window_time year
""")

_COLLECTIONS = _words("""
    aggregate array array_append array_compact array_contains array_distinct array_except array_insert array_intersect
    array_join array_max array_min array_position array_prepend array_remove array_repeat array_size array_sort array_union
    arrays_overlap arrays_zip cardinality element_at exists filter flatten forall get map map_concat map_contains_key
    map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with named_struct reduce sequence size
    slice sort_array str_to_map struct transform transform_keys transform_values try_element_at zip_with
""")

_JSON = _words("""
    from_csv from_json get_json_object is_variant_null json_array_length json_object_keys parse_json schema_of_csv
    schema_of_json schema_of_variant schema_of_variant_agg to_csv to_json to_variant_object try_parse_json try_variant_get
    variant_get
""")

_OTHER = _words("""
    assert_true bigint binary boolean cast coalesce crc32 current_catalog current_database current_schema current_user decimal
    double equal_null float hash hll_sketch_estimate hll_union if ifnull int isnan isnotnull isnull md5 nanvl nullif
    nullifzero nvl nvl2 session_user sha sha1 sha2 smallint string tinyint try_cast typeof user xxhash64 zeroifnull case when
""")

FUNCTIONS = AGGREGATES | WINDOWS | TABLE_FUNCTIONS | _MATHS | _TEXT | _TIME | _COLLECTIONS | _JSON | _OTHER

# Why a function that people might miss is not in the list.
REASONS = {
    **dict.fromkeys(
        ("rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id", "spark_partition_id"),
        "gives other rows each time, so that a block could not be repeated",
    ),
    **dict.fromkeys(("reflect", "java_method", "try_reflect"), "runs any Java method on the server"),
    **dict.fromkeys(
        ("input_file_name", "input_file_block_start", "input_file_block_length"), "shows where the server keeps its files"
    ),
}

# Words of the grammar that may stand before a parenthesis without being a call.
GRAMMAR_WORDS = _words("""
    all and any as between by case cross cube distinct div else end except exists filter for from group having if in insert
    intersect interval is join lateral like ilike rlike limit minus not nulls offset on or outer over partition pivot qualify
    rollup select sets some then union unpivot using values when where with window array char character dec decimal map numeric
    struct varchar
""")

HINTS = _words("""
    broadcast broadcastjoin mapjoin merge mergejoin shuffle_merge shuffle_hash shuffle_replicate_nl coalesce repartition
    repartition_by_range rebalance
""")

# Databases that are none: Spark takes `parquet.x` for the files in a folder x.
FORMATS = _words("""
    avro binaryfile console csv delta hive hudi iceberg image jdbc json kafka libsvm memory noop orc parquet protobuf rate
    socket statestore text xml
""")
