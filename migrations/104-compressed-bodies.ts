/**
 * Bodies of some KB are stored compressed (src/messages/body-compression.ts). Earlier versions do not read the column;
 * it is written once none of them can claim mail any more, since the contract migration 062.
 *
 * Statistics of bodies are not collected, since no query needs them: collecting them read 30,000 rows, and took
 * PostgreSQL up to 200 MB for a moment.
 */
import { zstdDecompressSync } from 'node:zlib'
import { brief, type MigrationStep } from '#src/stores/migration-steps.ts'
import { sql } from '#src/stores/sql.ts'

const COLUMN = sql`
  ALTER TABLE message_bodies ADD COLUMN compressed bytea; -- html, body_text and raw, which are null then
  DO $body$
  DECLARE
    name regclass;
  BEGIN
    FOR name IN (SELECT relid FROM pg_partition_tree('message_bodies')) LOOP
      EXECUTE format('ALTER TABLE ONLY %s ALTER compressed SET STORAGE EXTERNAL', name);
    END LOOP;
  END $body$`

/** Changes the partitions, too; a new one is made like its table. */
const setStatistics = (ids: string, texts: string): string => sql`
  DO $body$
  DECLARE
    name regclass;
  BEGIN
    FOR name IN (SELECT relid FROM pg_partition_tree('message_bodies')) LOOP
      EXECUTE format(
        'ALTER TABLE ONLY %1$s ALTER message_id SET STATISTICS %2$s, ALTER html SET STATISTICS %3$s, '
          'ALTER body_text SET STATISTICS %3$s, ALTER raw SET STATISTICS %3$s, ALTER compressed SET STATISTICS %3$s',
        name, '${ids}', '${texts}');
    END LOOP;
  END $body$`

interface Compressed {
  readonly id: string
  readonly compressed: Buffer
}

const READ_COMPRESSED = sql`
  SELECT message_id AS id, compressed
  FROM message_bodies
  WHERE compressed IS NOT NULL
  ORDER BY message_id
  LIMIT 200
`
const WRITE = sql`
  UPDATE message_bodies
  SET html = convert_from(decode(?, 'base64'), 'UTF8'), body_text = convert_from(decode(?, 'base64'), 'UTF8'),
    raw = decode(?, 'base64'), compressed = NULL
  WHERE message_id = ?::uuid
`

/** A damaged body is no longer stored, as it was for the version that wrote it. */
const DELETE = 'DELETE FROM message_bodies WHERE message_id = ?::uuid'

/** Repeated until no compressed body is left: all roles are stopped, and mail that waits must not lose its body. */
const decompress: MigrationStep = {
  describe: 'decompress bodies',
  sql: WRITE,
  isLong: true,
  run: async (session, note) => {
    for (let isMore = true; isMore;)
      await session.unlocked(async (tx) => {
        const { rows } = await tx.knex.raw<{ rows: Compressed[] }>(READ_COMPRESSED)
        for (const { id, compressed } of rows) {
          const parts = partsOf(compressed)
          await (parts === null ? tx.knex.raw(DELETE, [id]) : tx.knex.raw(WRITE, [...parts, id]))
        }
        isMore = rows.length > 0
      })
    await session.unlocked(note)
  },
}

const NULL_LENGTH = 0xffff_ffff

/**
 * HTML, text and raw message in base64: three lengths as 32 bits, little-endian, and then the octets of each. Null: the
 * octets are damaged.
 */
function partsOf(compressed: Buffer): (string | null)[] | null {
  let octets: Buffer
  try {
    octets = zstdDecompressSync(compressed)
  } catch {
    return null
  }
  let start = 12
  return [0, 4, 8].map((at) => {
    const length = octets.readUInt32LE(at)
    if (length === NULL_LENGTH) return null
    start += length
    return octets.toString('base64', start - length, start)
  })
}

export const steps: readonly MigrationStep[] = [
  brief(COLUMN, 'add column compressed to message_bodies'),
  brief(setStatistics('10', '0'), 'collect no statistics of bodies'),
]
export const undo: readonly MigrationStep[] = [
  decompress,
  brief(setStatistics('-1', '-1'), 'collect statistics of bodies'),
  brief('ALTER TABLE message_bodies DROP COLUMN compressed', 'drop column compressed of message_bodies'),
]
