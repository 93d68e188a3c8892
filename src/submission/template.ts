/**
 * X-Template-Id: the message provides From, To, Cc, optionally its Subject, and its own fields; the template provides
 * the body, rendered with X-Params. The body of the message is not sent: most programs cannot submit a message without
 * one.
 */
import { decodeHeaderText } from '#src/mail/header-text.ts'
import type { Submission } from '#src/messages/submission.ts'
import { findTemplateVersion } from '#src/templates/versions.ts'
import type { Context } from '#src/context.ts'
import type { Renderer } from '#src/templates/renderer.ts'
import { SubmissionError } from './submission-error.ts'
import type { SubmittedMessage } from './submitted-message.ts'
import { isOption } from './options.ts'

const MAX_SUBJECT = 998
const MAX_HEADERS = 100
const FIELD_NAME = /^[!-9;-~]{1,76}$/
/** Fields that the built message sets itself, or that describe the body that is not sent. */
const REPLACED_FIELDS =
  /^(?:from|to|cc|bcc|subject|date|message-id|mime-version|received|return-path|dkim-signature|content-.*|resent-.*)$/

type Rendered = Pick<Submission, 'subject' | 'html' | 'text' | 'headers' | 'template'>

/** @throws SubmissionError. */
export async function renderTemplateMessage(
  ctx: Pick<Context, 'db'> & { readonly renderer: Renderer },
  workspaceId: string,
  { options, subject, fields }: SubmittedMessage,
): Promise<Rendered> {
  const template = await findTemplateVersion(ctx.db, workspaceId, options.templateId ?? '', null)
  if (template === null) throw templateError('x-template-id: no such template exists')
  const rendered = await ctx.renderer.render({ template, params: options.params })
  if (!rendered.ok) throw templateError(`The template cannot be rendered: ${rendered.reason}`)
  const line = subject || rendered.subject.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  if (line === '' || line.length > MAX_SUBJECT)
    throw templateError(`The rendered subject must have 1 to ${MAX_SUBJECT} characters`)
  const use = { id: template.id, version: template.version }
  return { subject: line, html: rendered.html, text: rendered.text, headers: ownFields(fields), template: use }
}

function ownFields(fields: SubmittedMessage['fields']): Submission['headers'] {
  return fields
    .filter(({ name }) => FIELD_NAME.test(name) && !REPLACED_FIELDS.test(name) && !isOption(name))
    .slice(0, MAX_HEADERS)
    .map(({ line }) => [line.slice(0, line.indexOf(':')).trim(), decodeHeaderText(line.slice(line.indexOf(':') + 1))])
}

function templateError(reason: string): SubmissionError {
  return new SubmissionError('template', reason)
}
