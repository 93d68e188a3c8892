/** An import of contacts as the API shows it. */
import { z } from 'zod'
import { IMPORT_STATES, type Import, type ImportState } from '#src/imports/imports.ts'
import { reasonTranslationField, timestamp } from '#api/http/response-schemas.ts'

const count = z.int().min(0)
export const importSchema = z
  .object({
    id: z.uuid(),
    object: z.literal('contact_import'),
    status: z.enum(Object.keys(IMPORT_STATES) as [ImportState, ...ImportState[]]),
    audienceId: z.uuid(),
    audience_id: z.uuid(),
    dryRun: z.boolean(),
    dry_run: z.boolean(),
    columns: z
      .array(z.object({ column: z.string(), meaning: z.string() }))
      .meta({ description: 'what each column of the file means' }),
    progress: z.number().meta({ description: '0 to 1: the processed share of the bytes of the file' }),
    queuePosition: count
      .nullable()
      .meta({ description: 'imports that are processed before it; 0 while it runs, null when it does not wait' }),
    queue_position: count.nullable(),
    bytes: count,
    rows: z.object({
      read: count,
      added: count,
      updated: count,
      joined: count,
      duplicates: count,
      failed: count,
      blocked: count,
      unsubscribed: count,
    }),
    reason: z.string().nullable().meta({ description: 'why it failed' }),
    ...reasonTranslationField,
    createdAt: timestamp,
    created_at: timestamp,
    finishedAt: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'ContactImport' })

export function presentImport(found: Import): Record<string, unknown> {
  const {
    id,
    audienceId,
    state,
    isDryRun,
    layout,
    bytes,
    position,
    queuePosition,
    reason,
    createdAt,
    finishedAt,
    rowCount,
    ...counts
  } = found
  const { added, updated, joined, duplicates, failed, blocked, unsubscribed } = counts
  const [created, finished] = [createdAt.toISOString(), finishedAt?.toISOString() ?? null]
  return {
    id,
    object: 'contact_import',
    status: state,
    audienceId,
    audience_id: audienceId,
    dryRun: isDryRun,
    dry_run: isDryRun,
    columns: layout.columns.map(({ name, meaning }) => ({ column: name, meaning })),
    progress: state === 'done' ? 1 : bytes === 0 ? 0 : Math.floor((position / bytes) * 1000) / 1000,
    queuePosition,
    queue_position: queuePosition,
    bytes,
    rows: { read: rowCount, added, updated, joined, duplicates, failed, blocked, unsubscribed },
    reason,
    createdAt: created,
    created_at: created,
    finishedAt: finished,
    finished_at: finished,
  }
}
