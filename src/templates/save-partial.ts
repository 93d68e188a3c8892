/**
 * Saves a partial. Every template whose latest version uses it is recompiled to a new version, and all of them are
 * stored with the partial in one transaction: either every template has the new partial or nothing changes. Concurrent
 * changes are detected under the locks, and the save starts again. Messages that already use the old version keep it.
 * If one template cannot be compiled with the new partial, nothing is stored.
 */
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { retryOnConcurrentChange, type ConcurrentChange } from './optimistic-retry.ts'
import {
  findPartial,
  listPartials,
  listTemplatesUsing,
  loadPartials,
  lockPartials,
  MAX_PARTIALS,
  type partialFields,
  type PartialRow,
  type TemplateUsingPartial,
  type PartialVersions,
} from './partial-store.ts'
import { findPartialNames } from './partials.ts'
import type { Renderer } from './renderer.ts'
import { findTemplate, compiledColumns, withVersionInsert } from './store.ts'

export type SavePartialResult =
  | { readonly kind: 'saved'; readonly partial: PartialRow; readonly templates: readonly TemplateUsingPartial[] }
  /** `reason` is a text for the author. */
  | { readonly kind: 'invalid'; readonly reason: string }

interface SavePartialDeps {
  readonly db: Db
  readonly renderer: Pick<Renderer, 'compile'>
}

type PartialFields = z.output<typeof partialFields>

/** A recompiled template, ready to be stored. */
interface RecompiledTemplate {
  readonly id: string
  readonly compiled: readonly [string | null, string | null]
  /** Versions of its other partials. */
  readonly partials: PartialVersions
}

type RecompileResult =
  | { readonly kind: 'recompiled'; readonly all: readonly RecompiledTemplate[] }
  | ConcurrentChange
  | { readonly kind: 'invalid'; readonly reason: string }

/** Maximum characters of all recompiled templates; they are in memory until they are stored. */
const MAX_CHARS = 20_000_000

export function savePartial(
  store: SavePartialDeps,
  workspaceId: string,
  fields: PartialFields,
): Promise<SavePartialResult> {
  return retryOnConcurrentChange('a partial', () => trySave(store, workspaceId, fields))
}

async function trySave(
  store: SavePartialDeps,
  workspaceId: string,
  fields: PartialFields,
): Promise<SavePartialResult | ConcurrentChange> {
  const { db } = store
  const old = await findPartial(db, workspaceId, fields.name)
  const problem = await validatePartial(store, workspaceId, fields, old)
  if (problem !== null) return { kind: 'invalid', reason: problem }
  const dependents = await listTemplatesUsing(db, workspaceId, fields.name)
  const recompiled = await recompileTemplates(store, workspaceId, dependents, fields)
  if (recompiled.kind !== 'recompiled') return recompiled
  return db.transaction(async (tx) => {
    const lockedVersions = Object.fromEntries(recompiled.all.flatMap(({ partials }) => Object.entries(partials)))
    if (old !== null) lockedVersions[fields.name] = old.version
    if (!(await lockPartials(tx, workspaceId, lockedVersions, 'UPDATE'))) return { kind: 'concurrent-change' }
    if (!isDeepStrictEqual(await listTemplatesUsing(tx, workspaceId, fields.name), dependents))
      return { kind: 'concurrent-change' }
    const version = await storePartial(tx, workspaceId, fields, old)
    if (version === null) return { kind: 'concurrent-change' }
    for (const one of recompiled.all)
      await storeRecompiled(tx, workspaceId, one, { ...one.partials, [fields.name]: version })
    const partial = await findPartial(tx, workspaceId, fields.name)
    if (partial === null) throw new Error('the saved partial was not found')
    return { kind: 'saved', partial, templates: await listTemplatesUsing(tx, workspaceId, fields.name) }
  })
}

/**
 * Validates the partial alone: complete blocks and no nested partials. The compile thread, which can be terminated,
 * parses it.
 */
async function validatePartial(
  { db, renderer }: SavePartialDeps,
  workspaceId: string,
  { body }: PartialFields,
  old: PartialRow | null,
): Promise<string | null> {
  if (old === null && (await listPartials(db, workspaceId, { limit: MAX_PARTIALS })).items.length >= MAX_PARTIALS)
    return `a workspace may have ${MAX_PARTIALS} partials`
  if (findPartialNames(body).length > 0) return 'a partial cannot contain partials'
  const compiled = await renderer.compile(workspaceId, { subject: '', body, text: null, format: 'text' }, {})
  if (!compiled.ok) return compiled.reason.replace(/^the body/, 'the partial')
  return null
}

async function recompileTemplates(
  { db, renderer }: SavePartialDeps,
  workspaceId: string,
  dependents: readonly TemplateUsingPartial[],
  { name, body }: PartialFields,
): Promise<RecompileResult> {
  const all: RecompiledTemplate[] = []
  let chars = 0
  for (const dependent of dependents) {
    const template = await findTemplate(db, workspaceId, dependent.id)
    if (template === null) return { kind: 'concurrent-change' }
    const others = await loadPartials(
      db,
      workspaceId,
      findPartialNames(template.body, template.text).filter((other) => other !== name),
    )
    const compiled = await renderer.compile(workspaceId, template, { ...others.bodies, [name]: body })
    if (!compiled.ok)
      return {
        kind: 'invalid',
        reason: `the template "${dependent.name}" cannot be compiled with it: ${compiled.reason}`,
      }
    chars += (compiled.html?.length ?? 0) + (compiled.text?.length ?? 0)
    if (chars > MAX_CHARS)
      return { kind: 'invalid', reason: `the templates that use it are longer than ${MAX_CHARS} characters in total` }
    const used = compiled.partials
      .filter((other) => other !== name)
      .map((other) => [other, others.versions[other] ?? 0] as const)
    all.push({
      id: dependent.id,
      compiled: compiledColumns(template.body, template.text, compiled),
      partials: Object.fromEntries(used),
    })
  }
  return { kind: 'recompiled', all }
}

const CREATE = sql`
  INSERT INTO template_partials (workspace_id, name, body)
  VALUES ($1, $2, $3)
  ON CONFLICT (workspace_id, name) DO NOTHING
  RETURNING version
`
const CHANGE = sql`
  UPDATE template_partials
  SET body = $3, version = version + 1, updated_at = now()
  WHERE workspace_id = $1 AND name = $2
  RETURNING version
`

/** Returns the new version; null if another transaction created the partial first. */
async function storePartial(
  tx: Queryable,
  workspaceId: string,
  { name, body }: PartialFields,
  old: PartialRow | null,
): Promise<number | null> {
  const {
    rows: [row],
  } = await tx.query<{ version: number }>(old === null ? CREATE : CHANGE, [workspaceId, name, body])
  return row?.version ?? null
}

const STORE_RECOMPILED = withVersionInsert(sql`
  UPDATE templates
  SET finished = $3, finished_text = $4, partials = $5, version = version + 1, updated_at = now()
  WHERE id = $1 AND workspace_id = $2
  RETURNING *
`)

async function storeRecompiled(
  tx: Queryable,
  workspaceId: string,
  { id, compiled }: RecompiledTemplate,
  partials: PartialVersions,
): Promise<void> {
  await tx.query(STORE_RECOMPILED, [id, workspaceId, ...compiled, JSON.stringify(partials)])
}
