/**
 * A partial is saved: a next version of each template that has it in its latest is made ready with it, and stored with it in one
 * transaction. Either all have the new one or nothing changed; what changed meanwhile is found out under the locks, and it is done again.
 * What was begun with the old one keeps it. A template that cannot be made with it keeps the whole from being stored.
 */
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import type { Db, Queryable } from '#src/stores/db.ts'
import { sql } from '#src/stores/sql.ts'
import { untilStored, type Outrun } from './optimistic-retry.ts'
import {
  findPartial,
  listPartials,
  listUsers,
  loadPartials,
  lockPartials,
  MAX_PARTIALS,
  type partialFields,
  type PartialRow,
  type PartialUser,
  type PartialVersions,
} from './partial-store.ts'
import { guessPartials } from './partials.ts'
import type { Renderer } from './render.ts'
import { findTemplate, finishedColumns, keepVersion } from './store.ts'

export type SavedPartial =
  | { readonly kind: 'saved'; readonly partial: PartialRow; readonly templates: readonly PartialUser[] }
  /** `reason` is for the author. */
  | { readonly kind: 'invalid'; readonly reason: string }

interface PartialStore {
  readonly db: Db
  readonly renderer: Pick<Renderer, 'finish'>
}

type Fields = z.output<typeof partialFields>

/** What is to be stored of one template. */
interface Remade {
  readonly id: string
  readonly finished: readonly [string | null, string | null]
  /** Without the one that is saved. */
  readonly partials: PartialVersions
}

type Making =
  | { readonly kind: 'made'; readonly all: readonly Remade[] }
  | Outrun
  | { readonly kind: 'invalid'; readonly reason: string }

/** Characters of all templates that are made anew: they are held in memory until they are stored. */
const MAX_CHARS = 20_000_000

export function savePartial(store: PartialStore, workspaceId: string, fields: Fields): Promise<SavedPartial> {
  return untilStored('a partial', () => trySave(store, workspaceId, fields))
}

async function trySave(store: PartialStore, workspaceId: string, fields: Fields): Promise<SavedPartial | Outrun> {
  const { db } = store
  const old = await findPartial(db, workspaceId, fields.name)
  const wrong = await judge(store, workspaceId, fields, old)
  if (wrong !== null) return { kind: 'invalid', reason: wrong }
  const users = await listUsers(db, workspaceId, fields.name)
  const made = await remake(store, workspaceId, users, fields)
  if (made.kind !== 'made') return made
  return db.transaction(async (tx) => {
    const held = Object.fromEntries(made.all.flatMap(({ partials }) => Object.entries(partials)))
    if (old !== null) held[fields.name] = old.version
    if (!(await lockPartials(tx, workspaceId, held, 'UPDATE'))) return { kind: 'outrun' }
    if (!isDeepStrictEqual(await listUsers(tx, workspaceId, fields.name), users)) return { kind: 'outrun' }
    const version = await storePartial(tx, workspaceId, fields, old)
    if (version === null) return { kind: 'outrun' }
    for (const one of made.all) await storeRemade(tx, workspaceId, one, { ...one.partials, [fields.name]: version })
    const partial = await findPartial(tx, workspaceId, fields.name)
    if (partial === null) throw new Error('a saved partial is not there')
    return { kind: 'saved', partial, templates: await listUsers(tx, workspaceId, fields.name) }
  })
}

/** By itself: whole, without partials. Parsed by the workshop, which can be killed. */
async function judge(
  { db, renderer }: PartialStore,
  workspaceId: string,
  { body }: Fields,
  old: PartialRow | null,
): Promise<string | null> {
  if (old === null && (await listPartials(db, workspaceId)).length >= MAX_PARTIALS)
    return `a workspace may have ${MAX_PARTIALS} partials`
  if (guessPartials(body).length > 0) return 'a partial cannot have partials in it'
  const finished = await renderer.finish(workspaceId, { subject: '', body, text: null, format: 'text' }, {})
  if (!finished.ok) return finished.reason.replace(/^the body/, 'the partial')
  return null
}

async function remake(
  { db, renderer }: PartialStore,
  workspaceId: string,
  users: readonly PartialUser[],
  { name, body }: Fields,
): Promise<Making> {
  const all: Remade[] = []
  let chars = 0
  for (const user of users) {
    const template = await findTemplate(db, workspaceId, user.id)
    if (template === null) return { kind: 'outrun' }
    const others = await loadPartials(
      db,
      workspaceId,
      guessPartials(template.body, template.text).filter((other) => other !== name),
    )
    const finished = await renderer.finish(workspaceId, template, { ...others.bodies, [name]: body })
    if (!finished.ok)
      return { kind: 'invalid', reason: `the template "${user.name}" cannot be made with it: ${finished.reason}` }
    chars += (finished.html?.length ?? 0) + (finished.text?.length ?? 0)
    if (chars > MAX_CHARS)
      return { kind: 'invalid', reason: `the templates that have it are longer than ${MAX_CHARS} characters together` }
    const used = finished.partials
      .filter((other) => other !== name)
      .map((other) => [other, others.versions[other] ?? 0] as const)
    all.push({
      id: user.id,
      finished: finishedColumns(template.body, template.text, finished),
      partials: Object.fromEntries(used),
    })
  }
  return { kind: 'made', all }
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

/** Its new version; null when another made it meanwhile. */
async function storePartial(
  tx: Queryable,
  workspaceId: string,
  { name, body }: Fields,
  old: PartialRow | null,
): Promise<number | null> {
  const {
    rows: [row],
  } = await tx.query<{ version: number }>(old === null ? CREATE : CHANGE, [workspaceId, name, body])
  return row?.version ?? null
}

const REMAKE = keepVersion(sql`
  UPDATE templates
  SET finished = $3, finished_text = $4, partials = $5, version = version + 1, updated_at = now()
  WHERE id = $1 AND workspace_id = $2
  RETURNING *
`)

async function storeRemade(
  tx: Queryable,
  workspaceId: string,
  { id, finished }: Remade,
  partials: PartialVersions,
): Promise<void> {
  await tx.query(REMAKE, [id, workspaceId, ...finished, JSON.stringify(partials)])
}
