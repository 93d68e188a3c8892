/**
 * Campaigns: create, update and delete drafts; list and get any campaign with its statistics. `campaign-sending.ts`
 * starts them.
 */
import { z } from 'zod'
import { aliasOf, useTextAsBody, contentFields, nonEmptyLine, normalizeContent, uuid } from '#src/campaigns/content.ts'
import type { CampaignKey } from '#src/campaigns/transitions.ts'
import { validateReferences, type Reference } from '#src/campaigns/references.ts'
import {
  changeDraft,
  createCampaign,
  deleteDraft,
  findCampaign,
  listCampaigns,
  MAX_CAMPAIGNS,
  type CampaignFields,
  type NotChanged,
} from '#src/campaigns/store.ts'
import { invalid, refuse, type Refusal } from '#src/platform/errors.ts'
import { isUuid } from '#src/platform/id.ts'
import { isHtml } from '#src/mail/html-detection.ts'
import type { ApiContext } from '#api/http/context.ts'
import { openPage } from '#api/http/list-cursor.ts'
import { pageData, paging } from '#api/http/paging.ts'
import { isRefusal } from '#api/http/response.ts'
import { route, type AnyRoute } from '#api/http/route.ts'
import { pagedList } from '#api/http/response-schemas.ts'
import { countText } from '#src/platform/plural.ts'
import {
  ACCESS,
  byId,
  NO_CAMPAIGN,
  listedCampaign,
  presentCampaigns,
  respondWithCampaign,
  campaignResponse,
  CAMPAIGN_STATE_NAMES,
} from './campaign-view.ts'

const MAX_NAME = 255
const MAX_AUDIENCES = 50
const MAX_SUBJECT = 998
const WEEK_MINUTES = 7 * 24 * 60

const audienceIdsField = z
  .union(
    [z.array(uuid).max(MAX_AUDIENCES, `at most ${MAX_AUDIENCES} audiences`), uuid.transform((id) => [id])],
    'must be a list of audience ids',
  )
  .nullish()

const testField = z
  .object({
    subject_b: nonEmptyLine(MAX_SUBJECT).meta({ description: 'the second subject' }),
    percent: z.int().min(1).max(100).default(20).meta({
      description: 'share of the recipients in the test, half for each subject; the rest receives the winner',
    }),
    minutes: z
      .int()
      .min(1)
      .max(WEEK_MINUTES)
      .default(240)
      .meta({ description: 'time after the start at which the winner is chosen: by clicks, then by opens' }),
  })
  .nullish()

const changeBody = z
  .object({
    name: nonEmptyLine(MAX_NAME).nullish(),
    ...contentFields,
    audience_ids: audienceIdsField,
    audienceIds: audienceIdsField.meta(aliasOf('audience_ids')),
    audience_id: audienceIdsField.meta(aliasOf('audience_ids')),
    audienceId: audienceIdsField.meta(aliasOf('audience_ids')),
    segment_id: uuid.nullish().meta({ description: 'send only to contacts of the audiences that are in this segment' }),
    segmentId: uuid.nullish().meta(aliasOf('segment_id')),
    test: testField.meta({ description: 'a test of two subjects' }),
    spread_minutes: z
      .int()
      .min(1)
      .max(WEEK_MINUTES)
      .nullish()
      .meta({ description: 'spread the mail evenly over this time' }),
    track_opens: z.boolean().nullish(),
    track_clicks: z.boolean().nullish(),
  })
  .transform((given, sink): CampaignFields => {
    const content = normalizeContent(given, sink)
    const audienceIds = [given.audience_ids, given.audienceIds, given.audience_id, given.audienceId].find(
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
      audienceIds: audienceIds === undefined ? undefined : [...new Set(audienceIds)],
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
    return name === undefined
      ? z.NEVER
      : { ...useTextAsBody({ ...fields, body: fields.body, text: fields.text }), name }
  })
  .meta({
    required: ['name'],
    examples: [{ name: 'News of May', subject: 'What is new', body: '<p>Hello {{firstName}}</p>' }],
  })

const statusField = z
  .string()
  .transform((text) => text.trim().toUpperCase())
  .pipe(z.enum(CAMPAIGN_STATE_NAMES))

const create = route({
  name: 'create-campaign',
  summary: 'Create a campaign as a draft',
  method: 'POST',
  paths: ['/public/campaigns', '/public/campaigns/create'],
  access: ACCESS,
  body: createBody,
  status: 201,
  response: campaignResponse,
  errors: ['CONFLICT'],
  handle: async (ctx, { caller, body }) => {
    const refusal = await validateCampaignReferences(ctx, caller.workspaceId, body)
    if (refusal !== null) return refusal
    const campaign = await createCampaign(ctx.db, caller.workspaceId, body)
    if (campaign === null)
      return refuse(
        'CONFLICT',
        `A workspace has at most ${MAX_CAMPAIGNS} campaigns that have not ended. Delete a draft.`,
      )
    return respondWithCampaign(ctx, campaign, 'Campaign created.')
  },
})

const list = route({
  name: 'get-campaigns',
  summary: 'List the campaigns of the workspace, newest first, with their metrics and without their bodies',
  method: 'GET',
  paths: ['/public/campaigns', '/public/campaigns/get-all'],
  access: ACCESS,
  query: paging.extend({ status: statusField.optional() }),
  status: 200,
  response: pagedList('campaigns', listedCampaign),
  errors: [],
  handle: async (ctx, request) => {
    const { caller, query } = request
    const page = openPage(ctx, 'get-campaigns', request)
    if (isRefusal(page)) return page
    const found = await listCampaigns(ctx.db, caller.workspaceId, { ...page, status: query.status ?? null })
    const campaigns = await presentCampaigns(ctx, found.items)
    const data = pageData('campaigns', { ...found, items: campaigns }, page)
    return { body: { success: true, message: `${countText(found.total, 'campaign')}.`, data } }
  },
})

const get = route({
  name: 'get-campaign',
  summary: 'Get a campaign with its metrics',
  method: 'GET',
  paths: ['/public/campaigns/:id', '/public/campaigns/get-campaign/:id'],
  access: ACCESS,
  params: byId,
  status: 200,
  response: campaignResponse,
  errors: ['NOT_FOUND'],
  handle: async (ctx, { caller, params, headers }) => {
    const campaign = isUuid(params.id) ? await findCampaign(ctx.db, caller.workspaceId, params.id) : null
    return campaign === null ? NO_CAMPAIGN : respondWithCampaign(ctx, campaign, 'Campaign found.', headers)
  },
})

const update = route({
  name: 'update-campaign',
  summary: 'Update a draft; omitted fields are not changed, null clears a field',
  method: 'PATCH',
  paths: ['/public/campaigns/:id', '/public/campaigns/update-campaign/:id'],
  access: ACCESS,
  params: byId,
  body: changeBody,
  status: 200,
  response: campaignResponse,
  errors: ['CONFLICT', 'NOT_FOUND'],
  handle: async (ctx, { caller, params, body }) => {
    if (!isUuid(params.id)) return NO_CAMPAIGN
    const refusal = await validateCampaignReferences(ctx, caller.workspaceId, body)
    if (refusal !== null) return refusal
    const result = await changeDraft(
      ctx.db,
      caller.workspaceId,
      params.id,
      await assignTextToPart(ctx, { workspaceId: caller.workspaceId, id: params.id }, body),
    )
    return result.kind === 'changed'
      ? respondWithCampaign(ctx, result.campaign, 'Campaign updated.')
      : refuseUnchanged(result)
  },
})

const remove = route({
  name: 'delete-campaign',
  summary: 'Delete a draft campaign',
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
    return result === null ? {} : refuseUnchanged(result)
  },
})

/** The alias of the list must be before `:id`. */
export const CAMPAIGN_ROUTES: readonly AnyRoute[] = [create, list, get, update, remove]

function refuseUnchanged(result: NotChanged): Refusal {
  if (result.kind === 'not-found') return NO_CAMPAIGN
  return refuse(
    'CONFLICT',
    `The campaign is ${result.status}; only a DRAFT can be changed or deleted. Create another one.`,
  )
}

/** `text` without `body` is the text part if the draft has HTML; otherwise it is the body. */
async function assignTextToPart(
  ctx: ApiContext,
  { workspaceId, id }: CampaignKey,
  fields: CampaignFields,
): Promise<CampaignFields> {
  if (fields.body !== undefined || !fields.text) return fields
  const body = (await findCampaign(ctx.db, workspaceId, id))?.body ?? null
  return body !== null && isHtml(body) ? fields : { ...fields, body: fields.text, text: null }
}

/** A draft may be unfinished, but everything it names must exist. */
async function validateCampaignReferences(
  ctx: ApiContext,
  workspaceId: string,
  fields: CampaignFields,
): Promise<Refusal | null> {
  const { templateId, audienceIds, segmentId } = fields
  const references: Reference[] = [
    ...(templateId ? [{ kind: 'template' as const, value: templateId, path: 'template_id' }] : []),
    ...(audienceIds ?? []).map((value, i) => ({ kind: 'audience' as const, value, path: `audience_ids.${i}` })),
    ...(segmentId ? [{ kind: 'segment' as const, value: segmentId, path: 'segment_id' }] : []),
  ]
  const details = await validateReferences(ctx.db, workspaceId, references)
  return details.length === 0 ? null : invalid(details)
}

/** Sets or clears the three columns of a test together. */
function testFields(
  given: z.output<typeof testField>,
): Pick<CampaignFields, 'subjectB' | 'testPercent' | 'testMinutes'> {
  if (given === undefined) return {}
  return {
    subjectB: given?.subject_b ?? null,
    testPercent: given?.percent ?? null,
    testMinutes: given?.minutes ?? null,
  }
}
