/**
 * Renders a template before it is used: stored or inline, filled in for a contact or with sample data. Its links lead
 * to example.com, so nobody who opens a preview can unsubscribe a contact. Nothing is stored.
 */
import { listAttributes } from '#src/contacts/attribute-names.ts'
import type { ContactFields } from '#src/contacts/contact-fields.ts'
import type { Queryable } from '#src/stores/db.ts'
import { textFromHtml } from '#src/mail/html-text.ts'
import { loadPartials } from './partial-store.ts'
import { findPartialNames } from './partials.ts'
import type { Renderer } from './renderer.ts'
import type { Review } from './review.ts'
import type { AuthoredTemplate } from './compile-template.ts'
import type { TemplateSource } from './template-source.ts'
import { findTemplate } from './store.ts'
import { sampleVariables, variablesOf } from './variables.ts'
import { findAuthoredVersion } from './version-list.ts'
import { findTemplateVersion } from './versions.ts'
import { compileInlineTemplate } from './inline-template.ts'

type Data = Readonly<Record<string, unknown>>

/** What to preview: a version of a stored template (null: the latest) or an inline template. */
export type TemplateDraft =
  | { readonly kind: 'stored'; readonly id: string; readonly version: number | null }
  | { readonly kind: 'authored'; readonly authored: AuthoredTemplate; readonly sampleData: Data | null }

/**
 * The params of the preview. Precedence, lowest first: sample values, the template's sample data, the contact,
 * `params`.
 */
export interface PreviewParams {
  readonly contact: ContactFields | null
  readonly params: Data
}

export interface TemplatePreview {
  readonly template: { readonly id: string; readonly version: number } | null
  readonly subject: string
  readonly html: string | null
  /** The author's text part, or the text generated from the HTML. */
  readonly text: string
  readonly isTextGenerated: boolean
}

export type TemplatePreviewResult =
  | ({ readonly kind: 'rendered' } & TemplatePreview)
  | { readonly kind: 'not-found' }
  /** `reason` is a text for the author. */
  | { readonly kind: 'invalid'; readonly reason: string }

interface PreviewDeps {
  readonly db: Queryable
  readonly renderer: Pick<Renderer, 'compile' | 'renderMany' | 'review'>
}

const SAMPLE_LINKS = {
  unsubscribeUrl: 'https://example.com/unsubscribe',
  preferencesUrl: 'https://example.com/preferences',
  viewInBrowserUrl: 'https://example.com/view',
}

export async function previewTemplate(
  ctx: PreviewDeps,
  workspaceId: string,
  draft: TemplateDraft,
  previewParams: PreviewParams,
): Promise<TemplatePreviewResult> {
  const compiled = await compileDraft(ctx, workspaceId, draft)
  if (compiled.kind !== 'compiled') return compiled
  const params = await buildParams(ctx.db, workspaceId, compiled.sampleData, previewParams)
  const [rendered] = await ctx.renderer.renderMany({ key: `preview:${workspaceId}`, ...compiled.source }, [params])
  if (rendered === undefined || !rendered.ok) return { kind: 'invalid', reason: rendered?.reason ?? '' }
  const { subject, html, text } = rendered
  const preview = {
    subject: oneLine(subject),
    html,
    text: text ?? textFromHtml(html ?? ''),
    isTextGenerated: text === null,
  }
  return { kind: 'rendered', template: compiled.template, ...preview }
}

export type ReviewResult = { readonly kind: 'reviewed'; readonly review: Review } | { readonly kind: 'not-found' }

/** Reviews a template: findings that its author should know before sending. */
export async function reviewTemplate(
  ctx: PreviewDeps,
  workspaceId: string,
  draft: TemplateDraft,
  previewParams: PreviewParams,
): Promise<ReviewResult> {
  const found = await readDraft(ctx.db, workspaceId, draft)
  if (found === null) return { kind: 'not-found' }
  const { authored, sampleData } = found
  const [partials, attributes, params] = await Promise.all([
    loadPartials(ctx.db, workspaceId, findPartialNames(authored.body, authored.text)),
    listAttributes(ctx.db, workspaceId),
    buildParams(ctx.db, workspaceId, sampleData, previewParams),
  ])
  const declared = [...Object.keys(sampleData ?? {}), ...Object.keys(previewParams.params)]
  return {
    kind: 'reviewed',
    review: await ctx.renderer.review(workspaceId, {
      authored,
      partials: partials.bodies,
      attributes,
      declared,
      params,
    }),
  }
}

type CompiledDraft =
  | {
      readonly kind: 'compiled'
      readonly source: Omit<TemplateSource, 'key'>
      readonly sampleData: Data | null
      readonly template: TemplatePreview['template']
    }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'invalid'; readonly reason: string }

/** Loads or compiles the draft. */
async function compileDraft(
  { db, renderer }: PreviewDeps,
  workspaceId: string,
  draft: TemplateDraft,
): Promise<CompiledDraft> {
  if (draft.kind === 'stored') {
    const [compiled, authored] = await Promise.all([
      findTemplateVersion(db, workspaceId, draft.id, draft.version),
      readDraft(db, workspaceId, draft),
    ])
    if (compiled === null) return { kind: 'not-found' }
    const { id, version, subject, html, text } = compiled
    return {
      kind: 'compiled',
      source: { subject, html, text },
      sampleData: authored?.sampleData ?? null,
      template: { id, version },
    }
  }
  const { authored, sampleData } = draft
  const compiled = await compileInlineTemplate({ db, renderer }, workspaceId, authored)
  if (!compiled.ok) return { kind: 'invalid', reason: compiled.reason }
  const { subject, html, text } = compiled
  return { kind: 'compiled', source: { subject, html, text }, sampleData, template: null }
}

/** Loads the draft in its authored form. */
async function readDraft(
  db: Queryable,
  workspaceId: string,
  draft: TemplateDraft,
): Promise<{ authored: AuthoredTemplate; sampleData: Data | null } | null> {
  if (draft.kind === 'authored') return draft
  const { id, version } = draft
  const found =
    version === null ? await findTemplate(db, workspaceId, id) : await findAuthoredVersion(db, workspaceId, id, version)
  return found === null ? null : { authored: found, sampleData: found.sampleData }
}

/** The params as JSON. */
async function buildParams(
  db: Queryable,
  workspaceId: string,
  sampleData: Data | null,
  { contact, params }: PreviewParams,
): Promise<string> {
  const {
    rows: [workspace],
  } = await db.query<{ name: string }>('SELECT name FROM workspaces WHERE id = $1', [workspaceId])
  const mailFacts = { ...SAMPLE_LINKS, workspace: { name: workspace?.name ?? '' } }
  const variables = contact === null ? { workspace: mailFacts.workspace } : variablesOf(contact, mailFacts)
  return JSON.stringify({ ...sampleVariables(), ...sampleData, ...variables, ...params })
}

/** A line break in a variable must not end the subject header. */
function oneLine(subject: string): string {
  return subject.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
