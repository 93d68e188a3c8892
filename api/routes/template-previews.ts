/**
 * Templates before they are used: a preview and a check, of a stored template or of an unsaved one, and a test
 * send. A preview is rendered for a contact or with sample data; its links lead nowhere. A test message is sent
 * like any other and is marked as a test.
 */
import { z } from 'zod'
import { refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { findFirst } from '#src/platform/sentence-codes.ts'
import {
  type TemplateDraft,
  type PreviewParams,
  previewTemplate,
  type TemplatePreviewResult,
  reviewTemplate,
} from '#src/templates/preview.ts'
import { findTemplateTranslation } from '#src/templates/problem-texts.ts'
import { REVIEW_RULES } from '#src/templates/review-rules.ts'
import { findReviewTranslation } from '#src/templates/review-texts.ts'
import { authoredFields } from '#src/templates/store.ts'
import { limitCompiling } from '#api/http/compile-limit.ts'
import { isRefusal } from '#api/http/response.ts'
import type { ApiContext } from '#api/http/context.ts'
import { route, type ApiResponse, type AnyRoute, type ApiRequest } from '#api/http/route.ts'
import { envelope, translation } from '#api/http/response-schemas.ts'
import { bindSender } from '#api/sending/session-sender.ts'
import { queuedResponse } from '#api/sending/response-schemas.ts'
import type { SendBody } from '#api/sending/body.ts'
import { mailbox, mailboxList } from '#api/sending/mailboxes.ts'
import { readClaim, send } from '#api/sending/send.ts'
import { countText } from '#src/platform/plural.ts'
import { respondToSend, SENDING_ERRORS } from './send.ts'
import { NO_TEMPLATE, templatePaths } from './templates.ts'

const MAX_TEST_RECIPIENTS = 10
const TEST_PREFIX = '[Test] '
const NO_CONTACT = refuse('NOT_FOUND', 'There is no such contact. List them with get-contacts.')

const aliasOf = (name: string): { description: string } => ({ description: `alias of ${name}` })
const uuidField = z.string().refine(isUuid, 'must be a UUID').nullish()
const versionField = z.int().min(1).nullish().meta({ description: 'by default the latest' })
const dataFields = {
  contact_id: uuidField.meta({ description: 'render for this contact; by default with sample data' }),
  contactId: uuidField.meta(aliasOf('contact_id')),
  params: authoredFields.sample_data.meta({ description: 'override all other values' }),
  template_data: authoredFields.sample_data.meta(aliasOf('params')),
}

interface PreviewRequest {
  readonly draft: TemplateDraft
  readonly contactId: string | null
  readonly params: PreviewParams['params']
}

const previewBody = z
  .object({
    id: uuidField.meta({ description: 'the id of a stored template; without it, give `subject` and `body`' }),
    template_id: uuidField.meta(aliasOf('id')),
    templateId: uuidField.meta(aliasOf('id')),
    version: versionField,
    ...authoredFields,
    subject: authoredFields.subject.nullish(),
    body: authoredFields.body.nullish(),
    ...dataFields,
  })
  .transform((given, sink): PreviewRequest => {
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
    const authored = { subject: subject ?? '', body: body ?? '', text: text ?? null, format: format ?? null }
    return { draft: { kind: 'authored', authored, sampleData: given.sample_data ?? null }, ...rest }
  })

const templateRef = z.object({ id: z.uuid(), version: z.int().min(1) }).nullable()
const preview = route({
  name: 'preview-template',
  summary: 'Preview a template, stored or unsaved, rendered for a contact or with sample data',
  method: 'POST',
  paths: templatePaths('/preview'),
  access: 'any',
  body: previewBody,
  status: 200,
  errors: ['INVALID_TEMPLATE', 'NOT_FOUND'],
  response: envelope(
    z.object({
      template: templateRef,
      subject: z.string(),
      html: z.string().nullable(),
      text: z.string(),
      text_is_made: z.boolean().meta({ description: 'true: the text was generated from the HTML' }),
    }),
  ).meta({ id: 'TemplatePreview' }),
  handle: async (ctx, { caller, body }) => {
    const limited = limitCompiling(ctx, caller.workspaceId)
    if (limited !== null) return limited
    const found = await renderPreview(ctx, caller.workspaceId, body)
    if (isRefusal(found)) return found
    const { template, subject, html, text, isTextGenerated: isTextMade } = found
    return {
      body: { success: true, message: 'Rendered.', data: { template, subject, html, text, text_is_made: isTextMade } },
    }
  },
})

const findFindingTranslation = findFirst(findReviewTranslation, findTemplateTranslation)
const findingSchema = z.object({
  rule: z.enum(Object.keys(REVIEW_RULES) as [keyof typeof REVIEW_RULES, ...(keyof typeof REVIEW_RULES)[]]),
  level: z.enum(['error', 'campaign', 'warning']),
  part: z.string().nullable().meta({ description: 'subject, body, text, or `partial <name>`' }),
  line: z.int().min(1).nullable(),
  message: z.string(),
  translation: translation.nullable().meta({ description: 'of the message; null: there is none' }),
})
const check = route({
  name: 'check-template',
  summary: 'Check a template for problems before it is sent',
  method: 'POST',
  paths: templatePaths('/check'),
  access: 'any',
  body: previewBody,
  status: 200,
  errors: ['NOT_FOUND'],
  response: envelope(
    z.object({
      findings: z.array(findingSchema),
      may_be_sent: z.boolean(),
      may_be_campaign: z.boolean(),
      text: z.string().nullable(),
      size: z.int().min(0),
    }),
  ).meta({ id: 'TemplateCheck' }),
  handle: async (ctx, { caller, body }) => {
    const limited = limitCompiling(ctx, caller.workspaceId)
    if (limited !== null) return limited
    const filled = await findFilling(ctx, caller.workspaceId, body)
    if (isRefusal(filled)) return filled
    const reviewed = await reviewTemplate(ctx, caller.workspaceId, body.draft, filled)
    if (reviewed.kind === 'not-found') return NO_TEMPLATE
    const { findings, text, size } = reviewed.review
    const has = (level: string): boolean => findings.some((one) => one.level === level)
    const data = {
      findings: findings.map((one) => ({ ...one, translation: findFindingTranslation(one.message) })),
      may_be_sent: !has('error'),
      may_be_campaign: !has('error') && !has('campaign'),
      text,
      size,
    }
    return { body: { success: true, message: `${countText(findings.length, 'finding')}.`, data } }
  },
})

const testBody = z
  .object({ to: mailboxList, from: mailbox, version: versionField, ...dataFields })
  .transform((given, sink) => {
    if (given.to.length === 0) sink.addIssue({ code: 'custom', path: ['to'], message: 'is required' })
    if (given.to.length > MAX_TEST_RECIPIENTS)
      sink.addIssue({ code: 'custom', path: ['to'], message: `at most ${MAX_TEST_RECIPIENTS} addresses` })
    const { to, from } = given
    const [contactId, params] = [given.contact_id ?? given.contactId ?? null, given.params ?? given.template_data ?? {}]
    return { to, from, version: given.version ?? null, contactId, params }
  })
  .meta({ required: ['to'] })

const byId = z.object({ id: z.string() })
const test = route({
  name: 'test-template',
  summary: 'Send a test of a template to given addresses, marked as a test',
  method: 'POST',
  paths: templatePaths('/:id/test'),
  access: 'regular',
  params: byId,
  body: testBody,
  status: 200,
  response: queuedResponse,
  errors: [...SENDING_ERRORS, 'NOT_FOUND'],
  handle: (ctx, request) => sendTest(ctx, request),
})

async function sendTest(
  ctx: ApiContext,
  request: ApiRequest<'regular', typeof byId, undefined, typeof testBody>,
): Promise<ApiResponse | Refusal> {
  const {
    params: { id },
    body,
    headers,
  } = request
  const caller = await bindSender(ctx, request.caller, body.from)
  if (isRefusal(caller)) return caller
  const read = readClaim(headers, `test ${id}`, body)
  if (!read.ok) return read.refusal
  const { version, contactId, params } = body
  const rendered = await renderPreview(ctx, caller.workspaceId, {
    draft: { kind: 'stored', id, version: version },
    contactId,
    params,
  })
  if (isRefusal(rendered)) return rendered
  return respondToSend(
    await send(
      ctx,
      caller,
      { body: buildTestMessage(body, rendered), tier: 'high', scheduledAt: null, timezone: null },
      read.claim,
    ),
  )
}

function buildTestMessage(
  { to, from }: z.output<typeof testBody>,
  { subject, html, text, isTextGenerated: isTextMade, template }: Extract<TemplatePreviewResult, { kind: 'rendered' }>,
): SendBody {
  return {
    to,
    cc: [],
    bcc: [],
    from,
    replyTo: null,
    subject: `${TEST_PREFIX}${subject}`.slice(0, 998),
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

async function renderPreview(
  ctx: ApiContext,
  workspaceId: string,
  { draft, contactId, params }: PreviewRequest,
): Promise<Extract<TemplatePreviewResult, { kind: 'rendered' }> | Refusal> {
  const filled = await findFilling(ctx, workspaceId, { contactId, params })
  if (isRefusal(filled)) return filled
  const result = await previewTemplate(ctx, workspaceId, draft, filled)
  if (result.kind === 'not-found') return NO_TEMPLATE
  return result.kind === 'rendered'
    ? result
    : refuse('INVALID_TEMPLATE', `The template cannot be rendered: ${result.reason}`)
}

async function findFilling(
  ctx: ApiContext,
  workspaceId: string,
  { contactId, params }: Omit<PreviewRequest, 'draft'>,
): Promise<PreviewParams | Refusal> {
  if (contactId === null) return { contact: null, params }
  const contact = await ctx.contacts.find({ workspaceId, contact: { id: contactId }, audienceId: null })
  return contact === null ? NO_CONTACT : { contact, params }
}

export const TEMPLATE_PREVIEW_ROUTES: readonly AnyRoute[] = [preview, check, test]
