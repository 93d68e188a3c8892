/**
 * The subject and parts of a message, given or rendered from a stored template. Template errors are INVALID_TEMPLATE.
 */
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { findTemplateVersion, type CompiledTemplateVersion } from '#src/templates/versions.ts'
import type { BodyText, TemplateReference } from '#src/messages/submission.ts'
import type { ApiContext } from '#api/http/context.ts'
import type { SendBody } from './body.ts'

export interface RenderedContent {
  readonly subject: string
  readonly html: BodyText | null
  readonly text: BodyText | null
  readonly template?: TemplateReference
}

const MAX_SUBJECT = 998

export async function renderContent(
  ctx: ApiContext,
  workspaceId: string,
  body: SendBody,
): Promise<RenderedContent | Refusal> {
  const { templateId, subject, html, text } = body
  if (templateId === null)
    return { subject: subject ?? '', html, text, ...(body.template === undefined ? {} : { template: body.template }) }
  const template = await findTemplateVersion(ctx.db, workspaceId, templateId, null)
  if (template === null) return refuse('INVALID_TEMPLATE', 'No template with this template_id exists.')
  const rendered = await ctx.renderer.render({ template: overrideKind(template, body.isHtml), params: body.params })
  if (!rendered.ok) return refuse('INVALID_TEMPLATE', `The template cannot be rendered: ${rendered.reason}`)
  const line = subject ?? oneLine(rendered.subject)
  if (line === '' || line.length > MAX_SUBJECT)
    return refuse('INVALID_TEMPLATE', `The rendered subject must have 1 to ${MAX_SUBJECT} characters.`)
  return {
    subject: line,
    html: rendered.html,
    text: rendered.text,
    template: { id: template.id, version: template.version },
  }
}

/** `is_html` overrides the kind of the template's body. */
function overrideKind(template: CompiledTemplateVersion, asHtml: boolean | null): CompiledTemplateVersion {
  if (asHtml === null || asHtml === (template.html !== null)) return template
  return asHtml ? { ...template, html: template.text, text: null } : { ...template, html: null, text: template.html }
}

/** A variable in a subject must not add a line break. */
function oneLine(subject: string): string {
  return subject.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
