/**
 * A template as somebody would get it, before it is sent: stored or only just written, filled in for a contact or with sample data. Its
 * links lead nowhere: whoever looks at a preview must not unsubscribe anybody. Nothing is stored.
 */
import type { ContactFacts } from '#src/contacts/facts.ts'
import type { Queryable } from '#src/stores/db.ts'
import { textFromHtml } from '#src/mail/html-text.ts'
import { sql } from '#src/stores/sql.ts'
import { loadPartials } from './partial-store.ts'
import { guessPartials } from './partials.ts'
import type { Renderer } from './render.ts'
import type { Review } from './review.ts'
import type { Written } from './compile-template.ts'
import type { Source } from './source.ts'
import { findTemplate } from './store.ts'
import { sampleVariables, variablesOf } from './variables.ts'
import { findWrittenVersion } from './version-list.ts'
import { findTemplateVersion } from './versions.ts'
import { finishWritten } from './inline-template.ts'

type Data = Readonly<Record<string, unknown>>

/** What is looked at: a version of a stored template (null: the latest), or what an author has before him. */
export type Draft =
  | { readonly kind: 'stored'; readonly id: string; readonly version: number | null }
  | { readonly kind: 'written'; readonly written: Written; readonly sampleData: Data | null }

/** What it is filled in with; later ones win: sample values, the template's sample data, the contact, `params`. */
export interface Filling {
  readonly contact: ContactFacts | null
  readonly params: Data
}

export interface Preview {
  readonly template: { readonly id: string; readonly version: number } | null
  readonly subject: string
  readonly html: string | null
  /** The author's, or what is made of the HTML. */
  readonly text: string
  readonly isTextMade: boolean
}

export type PreviewResult =
  | ({ readonly kind: 'rendered' } & Preview)
  | { readonly kind: 'not-found' }
  /** `reason` is for the author. */
  | { readonly kind: 'invalid'; readonly reason: string }

interface Means {
  readonly db: Queryable
  readonly renderer: Pick<Renderer, 'finish' | 'renderMany' | 'review'>
}

const SAMPLE_LINKS = {
  unsubscribeUrl: 'https://example.com/unsubscribe',
  preferencesUrl: 'https://example.com/preferences',
  viewInBrowserUrl: 'https://example.com/view',
}

export async function previewTemplate(
  ctx: Means,
  workspaceId: string,
  draft: Draft,
  filling: Filling,
): Promise<PreviewResult> {
  const opened = await open(ctx, workspaceId, draft)
  if (opened.kind !== 'opened') return opened
  const params = await fill(ctx.db, workspaceId, opened.sampleData, filling)
  const [rendered] = await ctx.renderer.renderMany({ key: `preview:${workspaceId}`, ...opened.source }, [params])
  if (rendered === undefined || !rendered.ok) return { kind: 'invalid', reason: rendered?.reason ?? '' }
  const { subject, html, text } = rendered
  const shown = { subject: oneLine(subject), html, text: text ?? textFromHtml(html ?? ''), isTextMade: text === null }
  return { kind: 'rendered', template: opened.template, ...shown }
}

export type ReviewResult = { readonly kind: 'reviewed'; readonly review: Review } | { readonly kind: 'not-found' }

/** What is worth knowing of it before it is sent. */
export async function reviewTemplate(
  ctx: Means,
  workspaceId: string,
  draft: Draft,
  filling: Filling,
): Promise<ReviewResult> {
  const found = await readDraft(ctx.db, workspaceId, draft)
  if (found === null) return { kind: 'not-found' }
  const { written, sampleData } = found
  const [partials, attributes, params] = await Promise.all([
    loadPartials(ctx.db, workspaceId, guessPartials(written.body, written.text)),
    listAttributes(ctx.db, workspaceId),
    fill(ctx.db, workspaceId, sampleData, filling),
  ])
  const declared = [...Object.keys(sampleData ?? {}), ...Object.keys(filling.params)]
  return {
    kind: 'reviewed',
    review: await ctx.renderer.review(workspaceId, {
      written,
      partials: partials.bodies,
      attributes,
      declared,
      params,
    }),
  }
}

type Opened =
  | {
      readonly kind: 'opened'
      readonly source: Omit<Source, 'key'>
      readonly sampleData: Data | null
      readonly template: Preview['template']
    }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'invalid'; readonly reason: string }

/** In its finished form. */
async function open({ db, renderer }: Means, workspaceId: string, draft: Draft): Promise<Opened> {
  if (draft.kind === 'stored') {
    const [finished, written] = await Promise.all([
      findTemplateVersion(db, workspaceId, draft.id, draft.version),
      readDraft(db, workspaceId, draft),
    ])
    if (finished === null) return { kind: 'not-found' }
    const { id, version, subject, html, text } = finished
    return {
      kind: 'opened',
      source: { subject, html, text },
      sampleData: written?.sampleData ?? null,
      template: { id, version },
    }
  }
  const { written, sampleData } = draft
  const finished = await finishWritten({ db, renderer }, workspaceId, written)
  if (!finished.ok) return { kind: 'invalid', reason: finished.reason }
  const { subject, html, text } = finished
  return { kind: 'opened', source: { subject, html, text }, sampleData, template: null }
}

/** As its author wrote it. */
async function readDraft(
  db: Queryable,
  workspaceId: string,
  draft: Draft,
): Promise<{ written: Written; sampleData: Data | null } | null> {
  if (draft.kind === 'written') return draft
  const { id, version } = draft
  const found =
    version === null ? await findTemplate(db, workspaceId, id) : await findWrittenVersion(db, workspaceId, id, version)
  return found === null ? null : { written: found, sampleData: found.sampleData }
}

/** As JSON. */
async function fill(
  db: Queryable,
  workspaceId: string,
  sampleData: Data | null,
  { contact, params }: Filling,
): Promise<string> {
  const {
    rows: [workspace],
  } = await db.query<{ name: string }>('SELECT name FROM workspaces WHERE id = $1', [workspaceId])
  const facts = { ...SAMPLE_LINKS, workspace: { name: workspace?.name ?? '' } }
  const known = contact === null ? { workspace: facts.workspace } : variablesOf(contact, facts)
  return JSON.stringify({ ...sampleVariables(), ...sampleData, ...known, ...params })
}

/** So many contacts are asked which attributes there are. */
const ASKED = 5000
const ATTRIBUTES = sql`
  SELECT DISTINCT jsonb_object_keys(custom_attributes) AS name
  FROM (
    SELECT custom_attributes
    FROM contacts
    WHERE workspace_id = $1
    ORDER BY email
    LIMIT ${ASKED}
  ) asked
`

async function listAttributes(db: Queryable, workspaceId: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(ATTRIBUTES, [workspaceId])
  return rows.map(({ name }) => name)
}

/** What a variable brings into a subject must not end the line. */
function oneLine(subject: string): string {
  return subject.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
