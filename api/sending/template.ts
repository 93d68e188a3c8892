/** Subject and parts of a message: as given, or rendered from a stored template. Whatever a template does wrong is INVALID_TEMPLATE. */
import { refuse, type Refusal } from '#src/errors.ts'
import { isHtml } from '#src/mail/html-signs.ts'
import { findTemplate } from '#src/templates/store.ts'
import type { BodyText } from '#src/messages/submission.ts'
import type { ApiContext } from '#api/context.ts'
import type { SendBody } from './body.ts'
import { divide } from './content.ts'

export interface MessageContent {
  readonly subject: string
  readonly html: BodyText | null
  readonly text: BodyText | null
}

const MAX_SUBJECT = 998

export async function renderContent(ctx: ApiContext, workspaceId: string, body: SendBody): Promise<MessageContent | Refusal> {
  const { templateId, subject, html, text } = body
  if (templateId === null) return { subject: subject ?? '', html, text }
  const template = await findTemplate(ctx.db, workspaceId, templateId)
  if (template === null) return refuse('INVALID_TEMPLATE', 'There is no template with this template_id.')
  const asHtml = body.isHtml ?? isHtml(template.body)
  const rendered = await ctx.renderer.render({ template, params: body.params, isHtml: asHtml })
  if (!rendered.ok) return refuse('INVALID_TEMPLATE', `The template cannot be rendered: ${rendered.reason}`)
  const line = subject ?? oneLine(rendered.subject)
  if (line === '' || line.length > MAX_SUBJECT)
    return refuse('INVALID_TEMPLATE', `The rendered subject must have 1 to ${MAX_SUBJECT} characters.`)
  return { subject: line, ...divide(rendered.html, asHtml) }
}

/** What a variable brings into a subject must not end the line. */
function oneLine(subject: string): string {
  return subject.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}
