/** Campaigns: drafts are made, changed and deleted; any is listed and shown, with what became of its recipients. Sending: campaign-sending.ts. */
import { z } from 'zod'
import { aliasOf, asBody, contentFields, filled, foldContent, uuid } from '#src/campaigns/content.ts'
import type { CampaignName } from '#src/campaigns/transitions.ts'
import { judgeReferences, type Reference } from '#src/campaigns/references.ts'
import {
  changeDraft,
  createCampaign,
  deleteDraft,
  findCampaign,
  listCampaigns,
  MAX_CAMPAIGNS,
  type CampaignFields,
  type Unchanged,
} from '#src/campaigns/store.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { isHtml } from '#src/mail/html-detection.ts'
import type { ApiContext } from '#api/http/context.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { pageOf } from '#api/http/answer-shapes.ts'
import { ACCESS, byId, NO_CAMPAIGN, present, row, show, shown, STATES } from './campaign-view.ts'

const MAX_NAME = 255
const MAX_AUDIENCES = 50
const MAX_SUBJECT = 998
const WEEK_MINUTES = 7 * 24 * 60

const ids = z
  .union(
    [z.array(uuid).max(MAX_AUDIENCES, `at most ${MAX_AUDIENCES} audiences`), uuid.transform((id) => [id])],
    'must be a list of audience ids',
  )
  .nullish()

const test = z
  .object({
    subject_b: filled(MAX_SUBJECT).meta({ description: 'the other subject' }),
    percent: z
      .int()
      .min(1)
      .max(100)
      .default(20)
      .meta({ description: 'of the recipients, half for each subject; the rest gets the winner' }),
    minutes: z
      .int()
      .min(1)
      .max(WEEK_MINUTES)
      .default(240)
      .meta({ description: 'after the start the winner is chosen: by clicks, then by opens' }),
  })
  .nullish()

const changeBody = z
  .object({
    name: filled(MAX_NAME).nullish(),
    ...contentFields,
    audience_ids: ids,
    audienceIds: ids.meta(aliasOf('audience_ids')),
    audience_id: ids.meta(aliasOf('audience_ids')),
    audienceId: ids.meta(aliasOf('audience_ids')),
    segment_id: uuid.nullish().meta({ description: 'only those of the audiences who are in it' }),
    segmentId: uuid.nullish().meta(aliasOf('segment_id')),
    test: test.meta({ description: 'of two subjects' }),
    spread_minutes: z
      .int()
      .min(1)
      .max(WEEK_MINUTES)
      .nullish()
      .meta({ description: 'the mails leave evenly over so long' }),
    track_opens: z.boolean().nullish(),
    track_clicks: z.boolean().nullish(),
  })
  .transform((given, sink): CampaignFields => {
    const content = foldContent(given, sink)
    const named = [given.audience_ids, given.audienceIds, given.audience_id, given.audienceId].find(
      (one) => one !== undefined,
    )
    return {
      name: given.name ?? undefined,
      templateId: content.template_id,
      subject: content.subject,
      body: content.body,
      text: content.text,
      fromEmail: content.from,
      fromName: content.from_name,
      replyTo: content.reply_to,
      audienceIds: named === undefined ? undefined : [...new Set(named)],
      segmentId: given.segment_id === undefined ? given.segmentId : given.segment_id,
      ...testFields(given.test),
      spreadMinutes: given.spread_minutes,
      trackOpens: given.track_opens,
      trackClicks: given.track_clicks,
    }
  })

const createBody = changeBody
  .transform((fields, sink) => {
    const { name } = fields
    if (name === undefined) sink.addIssue({ code: 'custom', path: ['name'], message: 'is required' })
    return name === undefined ? z.NEVER : { ...asBody({ ...fields, body: fields.body, text: fields.text }), name }
  })
  .meta({
    required: ['name'],
    examples: [{ name: 'News of May', subject: 'What is new', body: '<p>Hello {{firstName}}</p>' }],
  })

const statusName = z
  .string()
  .transform((written) => written.trim().toUpperCase())
  .pipe(z.enum(STATES, `must be one of ${STATES.join(', ')}`))

const create = route({
  name: 'create-campaign',
  summary: 'Create a campaign, a draft',
  method: 'POST',
  paths: ['/public/campaigns', '/public/campaigns/create'],
  access: ACCESS,
  body: createBody,
  status: 201,
  answer: shown,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const wrong = await judge(ctx, caller.workspaceId, body)
    if (wrong !== null) return wrong
    const campaign = await createCampaign(ctx.db, caller.workspaceId, body)
    if (campaign === null)
      return refuse('CONFLICT', `A workspace has at most ${MAX_CAMPAIGNS} campaigns that are not over.`)
    return show(ctx, campaign, 'Campaign created.')
  },
})

const list = route({
  name: 'get-campaigns',
  summary: 'The campaigns of the workspace, the newest first; without their bodies and figures',
  method: 'GET',
  paths: ['/public/campaigns', '/public/campaigns/get-all'],
  access: ACCESS,
  query: paging.extend({ status: statusName.optional() }),
  status: 200,
  answer: pageOf('campaigns', row),
  errors: [],
  handle: async (ctx, { caller, query }) => {
    const found = await listCampaigns(ctx.db, caller.workspaceId, { ...query, status: query.status ?? null })
    const data = pageData('campaigns', { items: found.items.map(present), total: found.total }, query)
    return { body: { success: true, message: `${found.total} campaigns.`, data } }
  },
})

const get = route({
  name: 'get-campaign',
  summary: 'One campaign, with its figures',
  method: 'GET',
  paths: ['/public/campaigns/:id', '/public/campaigns/get-campaign/:id'],
  access: ACCESS,
  params: byId,
  status: 200,
  answer: shown,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const campaign = isUuid(params.id) ? await findCampaign(ctx.db, caller.workspaceId, params.id) : null
    return campaign === null ? NO_CAMPAIGN : show(ctx, campaign, 'Campaign found.')
  },
})

const update = route({
  name: 'update-campaign',
  summary: 'Change a draft; what is left out stays, null clears',
  method: 'PATCH',
  paths: ['/public/campaigns/:id', '/public/campaigns/update-campaign/:id'],
  access: ACCESS,
  params: byId,
  body: changeBody,
  status: 200,
  answer: shown,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    if (!isUuid(params.id)) return NO_CAMPAIGN
    const wrong = await judge(ctx, caller.workspaceId, body)
    if (wrong !== null) return wrong
    const result = await changeDraft(
      ctx.db,
      caller.workspaceId,
      params.id,
      await placeText(ctx, { workspaceId: caller.workspaceId, id: params.id }, body),
    )
    return result.kind === 'changed' ? show(ctx, result.campaign, 'Campaign changed.') : explain(result)
  },
})

const remove = route({
  name: 'delete-campaign',
  summary: 'Delete a draft',
  method: 'DELETE',
  paths: ['/public/campaigns/:id', '/public/campaigns/delete-campaign/:id'],
  access: ACCESS,
  params: byId,
  status: 204,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params }) => {
    const result = isUuid(params.id)
      ? await deleteDraft(ctx.db, caller.workspaceId, params.id)
      : { kind: 'not-found' as const }
    return result === null ? {} : explain(result)
  },
})

/** The list's alias stands before `:id`. */
export const CAMPAIGN_ROUTES: readonly AnyRoute[] = [create, list, get, update, remove]

function explain(result: Unchanged): Refusal {
  if (result.kind === 'not-found') return NO_CAMPAIGN
  return refuse('CONFLICT', `The campaign is ${result.status}; only a DRAFT is changed or deleted.`)
}

/** A text alone is the text part where the draft has HTML, and else its body. */
async function placeText(
  ctx: ApiContext,
  { workspaceId, id }: CampaignName,
  fields: CampaignFields,
): Promise<CampaignFields> {
  if (fields.body !== undefined || !fields.text) return fields
  const body = (await findCampaign(ctx.db, workspaceId, id))?.body ?? null
  return body !== null && isHtml(body) ? fields : { ...fields, body: fields.text, text: null }
}

/** A draft may be unfinished, but names nothing that is not there. */
async function judge(ctx: ApiContext, workspaceId: string, fields: CampaignFields): Promise<Refusal | null> {
  const { templateId, audienceIds, segmentId } = fields
  const references: Reference[] = [
    ...(templateId ? [{ kind: 'template' as const, value: templateId, path: 'template_id' }] : []),
    ...(audienceIds ?? []).map((value, i) => ({ kind: 'audience' as const, value, path: `audience_ids.${i}` })),
    ...(segmentId ? [{ kind: 'segment' as const, value: segmentId, path: 'segment_id' }] : []),
  ]
  const details = await judgeReferences(ctx.db, workspaceId, references)
  return details.length === 0 ? null : invalid(details)
}

/** All three or none. */
function testFields(given: z.output<typeof test>): Pick<CampaignFields, 'subjectB' | 'testPercent' | 'testMinutes'> {
  if (given === undefined) return {}
  return {
    subjectB: given?.subject_b ?? null,
    testPercent: given?.percent ?? null,
    testMinutes: given?.minutes ?? null,
  }
}
