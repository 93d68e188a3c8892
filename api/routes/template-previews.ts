/**
 * Templates looked at before they are used: a preview and a check of a stored one or of what an author has just written, and a test send.
 * A preview is filled in for a contact or with sample data; its links lead nowhere. A test goes the way of all mail, and says what it is.
 */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import {
  type Draft,
  type Filling,
  previewTemplate,
  type PreviewResult,
  reviewTemplate,
} from '#src/templates/preview.ts'
import { RULES } from '#src/templates/rules.ts'
import { writtenFields } from '#src/templates/store.ts'
import { isRefusal } from '#api/http/answer.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type Answer, type AnyRoute, type ApiRequest } from '#api/http/route.ts'
import { enveloped } from '#api/http/answer-shapes.ts'
import { queuedAnswer } from '#api/sending/answer-shapes.ts'
import type { SendBody } from '#api/sending/body.ts'
import { digestOf } from '#api/sending/request-digest.ts'
import { mailbox, mailboxList } from '#api/sending/mailboxes.ts'
import { idempotencyKeyOf, send } from '#api/sending/send.ts'
import { answerSent, SENDING_ERRORS } from './send.ts'
import { NO_TEMPLATE, templatePaths } from './templates.ts'

const MAX_TESTED = 10
const MARK = '[Test] '
const NO_CONTACT = refuse('NOT_FOUND', 'There is no such contact.')

const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const uuid = z.string().refine(isUuid, 'must be an id').nullish()
const version = z.int().min(1).nullish().meta({ description: 'the latest where it is left out' })
const filling = {
  contact_id: uuid.meta({ description: 'filled in for this contact; with sample data where it is left out' }),
  contactId: uuid.meta(aliasOf('contact_id')),
  params: writtenFields.sample_data.meta({ description: 'win over everything else' }),
  template_data: writtenFields.sample_data.meta(aliasOf('params')),
}

interface Looked {
  readonly draft: Draft
  readonly contactId: string | null
  readonly params: Filling['params']
}

const lookedBody = z
  .object({
    id: uuid.meta({ description: 'of a stored template; without it `subject` and `body` are looked at' }),
    template_id: uuid.meta(aliasOf('id')),
    templateId: uuid.meta(aliasOf('id')),
    version,
    ...writtenFields,
    subject: writtenFields.subject.nullish(),
    body: writtenFields.body.nullish(),
    ...filling,
  })
  .transform((given, sink): Looked => {
    const id = given.id ?? given.template_id ?? given.templateId ?? null
    const { subject, body, text, format } = given
    const rest = {
      contactId: given.contact_id ?? given.contactId ?? null,
      params: given.params ?? given.template_data ?? {},
    }
    if (id !== null) return { draft: { kind: 'stored', id, version: given.version ?? null }, ...rest }
    for (const [path, value] of [
      ['subject', subject],
      ['body', body],
    ] as const)
      if (value === undefined || value === null)
        sink.addIssue({ code: 'custom', path: [path], message: 'is required without an id' })
    const written = { subject: subject ?? '', body: body ?? '', text: text ?? null, format: format ?? null }
    return { draft: { kind: 'written', written, sampleData: given.sample_data ?? null }, ...rest }
  })

const shownTemplate = z.object({ id: z.uuid(), version: z.int().min(1) }).nullable()
const preview = route({
  name: 'preview-template',
  summary: 'A template as a contact would get it, or with sample data; stored or only written',
  method: 'POST',
  paths: templatePaths('/preview'),
  access: 'any',
  body: lookedBody,
  status: 200,
  errors: ['INVALID_TEMPLATE', 'NOT_FOUND'],
  answer: enveloped(
    z.object({
      template: shownTemplate,
      subject: z.string(),
      html: z.string().nullable(),
      text: z.string(),
      text_is_made: z.boolean().meta({ description: 'the text is made of the HTML' }),
    }),
  ).meta({ id: 'TemplatePreview' }),
  handle: async (ctx, { caller, body }) => {
    const found = await look(ctx, caller.workspaceId, body)
    if (isRefusal(found)) return found
    const { template, subject, html, text, isTextMade } = found
    return {
      body: { success: true, message: 'Rendered.', data: { template, subject, html, text, text_is_made: isTextMade } },
    }
  },
})

const finding = z.object({
  rule: z.enum(Object.keys(RULES) as [keyof typeof RULES, ...(keyof typeof RULES)[]]),
  level: z.enum(['error', 'campaign', 'warning']),
  part: z.string().nullable().meta({ description: 'subject, body, text, or `partial <name>`' }),
  line: z.int().min(1).nullable(),
  message: z.string(),
})
const check = route({
  name: 'check-template',
  summary: 'What is worth knowing of a template before it is sent',
  method: 'POST',
  paths: templatePaths('/check'),
  access: 'any',
  body: lookedBody,
  status: 200,
  errors: ['NOT_FOUND'],
  answer: enveloped(
    z.object({
      findings: z.array(finding),
      may_be_sent: z.boolean(),
      may_be_campaign: z.boolean(),
      text: z.string().nullable(),
      size: z.int().min(0),
    }),
  ).meta({ id: 'TemplateCheck' }),
  handle: async (ctx, { caller, body }) => {
    const filled = await fillingOf(ctx, caller.workspaceId, body)
    if (isRefusal(filled)) return filled
    const reviewed = await reviewTemplate(ctx, caller.workspaceId, body.draft, filled)
    if (reviewed.kind === 'not-found') return NO_TEMPLATE
    const { findings, text, size } = reviewed.review
    const has = (level: string): boolean => findings.some((one) => one.level === level)
    const data = {
      findings,
      may_be_sent: !has('error'),
      may_be_campaign: !has('error') && !has('campaign'),
      text,
      size,
    }
    return { body: { success: true, message: `${findings.length} findings.`, data } }
  },
})

const testBody = z
  .object({ to: mailboxList, from: mailbox, version, ...filling })
  .transform((given, sink) => {
    if (given.to.length === 0) sink.addIssue({ code: 'custom', path: ['to'], message: 'is required' })
    if (given.to.length > MAX_TESTED)
      sink.addIssue({ code: 'custom', path: ['to'], message: `at most ${MAX_TESTED} addresses` })
    const { to, from } = given
    const [contactId, params] = [given.contact_id ?? given.contactId ?? null, given.params ?? given.template_data ?? {}]
    return { to, from, version: given.version ?? null, contactId, params }
  })
  .meta({ required: ['to'] })

const byId = z.object({ id: z.string() })
const test = route({
  name: 'test-template',
  summary: 'Send a template to try it: to given addresses, marked as a test',
  method: 'POST',
  paths: templatePaths('/:id/test'),
  access: 'regular',
  params: byId,
  body: testBody,
  status: 200,
  answer: queuedAnswer,
  errors: [...SENDING_ERRORS, 'NOT_FOUND'],
  handle: (ctx, request) => sendTest(ctx, request),
})

async function sendTest(
  ctx: ApiContext,
  { caller, params: { id }, body, headers }: ApiRequest<'regular', typeof byId, undefined, typeof testBody>,
): Promise<Answer | Refusal> {
  const key = idempotencyKeyOf(headers['idempotency-key'])
  if (!key.ok) return key.refusal
  const { version: wanted, contactId, params } = body
  const found = await look(ctx, caller.workspaceId, {
    draft: { kind: 'stored', id, version: wanted },
    contactId,
    params,
  })
  if (isRefusal(found)) return found
  const claim = key.key === null ? null : { key: key.key, bodyHash: digestOf(`test ${id}`, body) }
  return answerSent(
    await send(ctx, caller, { body: testMail(body, found), tier: 'high', scheduledAt: null, timezone: null }, claim),
  )
}

function testMail(
  { to, from }: z.output<typeof testBody>,
  { subject, html, text, isTextMade, template }: Extract<PreviewResult, { kind: 'rendered' }>,
): SendBody {
  return {
    to,
    cc: [],
    bcc: [],
    from,
    replyTo: null,
    subject: `${MARK}${subject}`.slice(0, 998),
    html,
    text: isTextMade ? null : text,
    isHtml: null,
    templateId: null,
    params: {},
    ...(template === null ? {} : { template: { ...template, is_test: true } }),
    attachments: [],
    headers: [],
    tags: ['test'],
    metadata: null,
    trackOpens: false,
    trackClicks: false,
    expiresAt: null,
  }
}

async function look(
  ctx: ApiContext,
  workspaceId: string,
  { draft, contactId, params }: Looked,
): Promise<Extract<PreviewResult, { kind: 'rendered' }> | Refusal> {
  const filled = await fillingOf(ctx, workspaceId, { contactId, params })
  if (isRefusal(filled)) return filled
  const result = await previewTemplate(ctx, workspaceId, draft, filled)
  if (result.kind === 'not-found') return NO_TEMPLATE
  return result.kind === 'rendered'
    ? result
    : refuse('INVALID_TEMPLATE', `The template cannot be rendered: ${result.reason}`)
}

async function fillingOf(
  ctx: ApiContext,
  workspaceId: string,
  { contactId, params }: Omit<Looked, 'draft'>,
): Promise<Filling | Refusal> {
  if (contactId === null) return { contact: null, params }
  const contact = await ctx.contacts.find({ workspaceId, contact: { id: contactId }, audienceId: null })
  return contact === null ? NO_CONTACT : { contact, params }
}

export const TEMPLATE_PREVIEW_ROUTES: readonly AnyRoute[] = [preview, check, test]
