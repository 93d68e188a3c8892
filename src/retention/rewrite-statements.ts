/**
 * SQL of a rewrite of partitions (partition-rewrites.ts): begin, copy pages, repeat changed rows, replace, give up.
 * Names come from src/stores/partition-names.ts, never from input.
 */
import { idAt } from '#src/platform/id.ts'
import {
  boundsOf,
  PARTITIONED,
  type PartitionedTable,
  REWRITE_MARK,
  type TimeSpan,
} from '#src/stores/partition-names.ts'
import { copyStatistics } from '#src/stores/partitions.ts'
import { sql } from '#src/stores/sql.ts'

/**
 * How long a statement waits for a lock, and all others behind it. Less than `deadlock_timeout` (1 s), so that in a
 * deadlock this one gives up and nobody else is cancelled.
 */
export const LOCK_WAIT = '300ms'

const TRIGGER = 'mailstead_rewrite'
const BOUNDS = 'mailstead_rewrite_bounds'

export interface Rewrite extends TimeSpan {
  readonly target: string
  readonly table: PartitionedTable
  readonly sources: readonly string[]
  /** Only mail that is still to be sent is copied. */
  readonly isOpenOnly: boolean
}

/** The column by which the table is partitioned. */
function idColumn(table: PartitionedTable): string {
  return table === 'messages' || table === 'events' ? 'id' : 'message_id'
}

function within(column: string, { from, to }: TimeSpan): string {
  return `${column} >= '${idAt(from)}' AND ${column} < '${idAt(to)}'`
}

/**
 * Columns, constraints and indexes of the table $1, as a digest. A migration that changes one of them changes the table
 * that is being filled not, since it is not attached.
 */
const STRUCTURE = sql`
  SELECT md5(string_agg(part, E'\\n' ORDER BY part COLLATE "C"))
  FROM (
    SELECT format('%s %s %s %s %s', a.attname, a.atttypid, a.atttypmod, a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
      AS part
    FROM pg_attribute a
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT pg_get_indexdef(indexrelid) || indisvalid
    FROM pg_index
    WHERE indrelid = $1::regclass
    UNION ALL
    SELECT conname || pg_get_constraintdef(oid)
    FROM pg_constraint
    WHERE conrelid = $1::regclass
  ) parts`

/** The digest of $1, and the files of those of $2 that are attached and not to be dropped, in their order. */
export const READ_STATE = sql`
  SELECT (${STRUCTURE}) AS structure,
    ARRAY(
      SELECT pg_relation_filenode(c.oid)::bigint
      FROM unnest($2::text[]) WITH ORDINALITY AS s (name, n)
      JOIN pg_class c ON c.oid = to_regclass(s.name)
      JOIN pg_inherits i ON i.inhrelid = c.oid AND i.inhparent = $1::regclass AND NOT i.inhdetachpending
      WHERE obj_description(c.oid, 'pg_class') IS NULL
      ORDER BY s.n
    ) AS files
`

/** One transaction. The trigger waits for everybody who is writing to the partition, so it notes all that follows. */
export function beginSql({ target, table, sources, isOpenOnly, ...span }: Rewrite): readonly string[] {
  const storage = PARTITIONED[table]
  return [
    `CREATE TABLE ${target} (LIKE ${table} INCLUDING ALL) ${storage === '' ? '' : `WITH (${storage})`}`,
    sql`
      DO $body$
      DECLARE
        setting record;
      BEGIN
        ${copyStatistics(table, target)};
      END $body$`,
    // with it, ATTACH does not read the rows
    `ALTER TABLE ${target} ADD CONSTRAINT ${BOUNDS} CHECK (${within(idColumn(table), span)})`,
    `COMMENT ON TABLE ${target} IS '${REWRITE_MARK}'`,
    ...sources.map(
      (source) => sql`
        CREATE TRIGGER ${TRIGGER} AFTER INSERT OR UPDATE OR DELETE ON ${source}
        FOR EACH ROW EXECUTE FUNCTION note_rewritten_row('${target}', '${table}')`,
    ),
    sql`
      INSERT INTO partition_rewrites (target, of_table, sources, is_open_only, structure, files)
      SELECT '${target}', '${table}', '{${sources.join(',')}}', ${String(isOpenOnly)}, s.structure, s.files
      FROM (${READ_STATE.replaceAll('$1', `'${table}'`).replaceAll('$2', `'{${sources.join(',')}}'`)}) s`,
  ]
}

/** Copies pages $1 to before $2. A row that was copied already, because it has moved, has a note. */
export function copySql(rewrite: Rewrite, source: string, columns: readonly string[]): string {
  return sql`
    INSERT INTO ${rewrite.target} (${columns.join(', ')})
    SELECT ${columns.map((name) => `s.${name}`).join(', ')}
    FROM ONLY ${source} s
    WHERE s.ctid >= format('(%s,0)', $1::bigint)::tid AND s.ctid < format('(%s,0)', $2::bigint)::tid${filter(rewrite)}
    ON CONFLICT DO NOTHING
  `
}

function filter({ table, isOpenOnly, ...span }: Rewrite): string {
  if (!isOpenOnly) return ''
  return ` ${sql`
    AND EXISTS (
      SELECT
      FROM recipients r
      WHERE r.message_id = s.${idColumn(table)} AND r.is_open AND ${within('r.message_id', span)}
    )`}`
}

/** The keys of $1 to $4: id, workspace_id, tag and tx of notes. */
const NOTED = sql`
  (
    SELECT DISTINCT *
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::xid8[]) AS k (id, workspace_id, tag, tx)
  ) k`

function isNoted(table: PartitionedTable): string {
  const more = table === 'events' ? ['tx'] : table === 'message_tags' ? ['tag'] : []
  const columns = more.length === 0 ? [] : ['workspace_id', ...more]
  return [`s.${idColumn(table)} = k.id`, ...columns.map((name) => `s.${name} = k.${name}`)].join(' AND ')
}

/** Removes the rows of notes from the target. */
export function removeSql({ table, target }: Rewrite): string {
  return `DELETE FROM ${target} s USING ${NOTED} WHERE ${isNoted(table)}`
}

/** Copies them again, as they are now. */
export function repeatSql(rewrite: Rewrite, columns: readonly string[]): string {
  const { table, target, from, to } = rewrite
  return sql`
    INSERT INTO ${target} (${columns.join(', ')})
    SELECT ${columns.map((name) => `s.${name}`).join(', ')}
    FROM ${NOTED}
    JOIN ${table} s ON ${isNoted(table)} AND ${within(`s.${idColumn(table)}`, { from, to })}${filter(rewrite)}
  `
}

/**
 * What writes to a partition has locked its table before, so the table comes first: in the other order, each writer
 * would be in a deadlock with this. Then those who use the partitions by their own names, such as autovacuum.
 */
export function lockSql({ table, sources }: Rewrite): readonly string[] {
  return [
    `LOCK TABLE ONLY ${table} IN ACCESS EXCLUSIVE MODE`,
    `LOCK TABLE ${sources.join(', ')} IN ACCESS EXCLUSIVE MODE`,
  ]
}

/** Under these locks: changes of the catalogue only. */
export function replaceSql({ target, table, sources, from, to }: Rewrite): string {
  return [
    `DROP TABLE ${sources.join(', ')}`,
    `ALTER TABLE ${table} ATTACH PARTITION ${target} FOR VALUES ${boundsOf({ from, to })}`,
    `ALTER TABLE ${target} DROP CONSTRAINT ${BOUNDS}`,
    `COMMENT ON TABLE ${target} IS NULL`,
    `DELETE FROM partition_rewrites WHERE target = '${target}'`,
  ].join(';\n')
}

/** What a rewrite made, without a trace of it in the sources that exist. */
export function giveUpSql({ target }: Pick<Rewrite, 'target'>, existing: readonly string[]): string {
  return [
    `DROP TABLE IF EXISTS ${target}`,
    ...existing.map((source) => `DROP TRIGGER IF EXISTS ${TRIGGER} ON ${source}`),
    `DELETE FROM rewrite_notes WHERE target = '${target}'`,
    `DELETE FROM partition_rewrites WHERE target = '${target}'`,
  ].join(';\n')
}
