/**
 * The triggers of automations, one row each: what starts the automation, and its configuration as clients write it,
 * normalised to the form that is stored and returned. `key` is matched against events; no contact starts before
 * `startsAt`.
 */
import { z } from 'zod'
import { aliasOf, nonEmptyLine, uuid } from '#src/campaigns/content.ts'
import type { Detail } from '#src/platform/errors.ts'
import { SCHEMA_TEXTS } from '#src/platform/schema-texts.ts'
import { isTimeZone, parseTime } from '#src/platform/time-input.ts'
import { findKind } from './step-kinds.ts'

const MAX_EVENT_NAME = 255

/** The name of an event; names are compared exactly. */
export const eventName = nonEmptyLine(MAX_EVENT_NAME).trim()

type IssueContext = z.core.$RefinementCtx

const eventConfig = z
  .object({
    event_name: eventName.nullish(),
    eventName: eventName.nullish().meta(aliasOf('event_name')),
    event: eventName.nullish().meta(aliasOf('event_name')),
  })
  .transform((given, sink) => ({
    event_name: required(given.event_name ?? given.eventName ?? given.event, 'event_name', sink),
  }))

const audienceConfig = z
  .object({ audience_id: uuid.nullish(), audienceId: uuid.nullish().meta(aliasOf('audience_id')) })
  .transform((given, sink) => ({ audience_id: required(given.audience_id ?? given.audienceId, 'audience_id', sink) }))

const timeField = z.string().max(64).nullish()
const dateTimeConfig = z
  .object({
    at: timeField,
    date: timeField.meta(aliasOf('at')),
    date_time: timeField.meta(aliasOf('at')),
    scheduled_at: timeField.meta(aliasOf('at')),
    timezone: z.string().refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin').nullish(),
    audience_id: uuid.nullish().meta({ description: 'whose subscribed members are enrolled at that moment' }),
    audienceId: uuid.nullish().meta(aliasOf('audience_id')),
  })
  .transform((given, sink) => {
    const timezone = given.timezone ?? 'UTC'
    const text = given.at ?? given.date ?? given.date_time ?? given.scheduled_at
    const at = parseTime(required(text, 'at', sink), timezone)
    if (at === null && text !== undefined && text !== null)
      addIssue(sink, 'at', 'must be a time such as 2031-05-04T10:00:00Z')
    const audienceId = given.audience_id ?? given.audienceId ?? null
    return { at: at?.toISOString() ?? '', timezone, ...(audienceId === null ? {} : { audience_id: audienceId }) }
  })

function required(value: string | null | undefined, path: string, sink: IssueContext): string {
  if (value === undefined || value === null) addIssue(sink, path, 'is required')
  return value ?? ''
}

function addIssue(sink: IssueContext, path: string, message: string): void {
  sink.addIssue({ code: 'custom', path: [path], message })
}

export const TRIGGERS = {
  contact_event: {
    when: 'an event with this name is tracked for a contact',
    aliases: ['event', 'custom_event'],
    config: eventConfig,
  },
  contact_added_to_audience: {
    when: 'a contact joins the audience as a subscribed member, in any way',
    aliases: ['audience', 'added_to_audience', 'contact_added'],
    config: audienceConfig,
  },
  date_time: {
    when: 'the given time comes: members of the audience, if one is given, and contacts enrolled earlier start then',
    aliases: ['date', 'datetime', 'schedule'],
    config: dateTimeConfig,
  },
  manual: { when: 'a contact is enrolled by the API', aliases: ['api'], config: z.object({}) },
} as const
export type TriggerType = keyof typeof TRIGGERS

export interface Trigger {
  readonly type: TriggerType
  readonly config: Readonly<Record<string, unknown>>
  readonly key: string | null
  readonly startsAt: Date | null
}

export type TriggerResult =
  | { readonly ok: true; readonly trigger: Trigger }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Finds a trigger by its name or an alias. */
export function findTrigger(name: string): TriggerType | null {
  return findKind(TRIGGERS, name)
}

/** Parses a configuration as clients write it or as it is stored. */
export function readTrigger(type: TriggerType, config: unknown): TriggerResult {
  const schema: z.ZodType<Readonly<Record<string, unknown>>> = TRIGGERS[type].config
  const read = schema.safeParse(config ?? {}, SCHEMA_TEXTS)
  if (!read.success) {
    const details = read.error.issues.map(({ path, message }) => ({
      path: ['trigger_config', ...path.map(String)].join('.'),
      message,
    }))
    return { ok: false, details }
  }
  const { event_name: name, audience_id: audienceId, at }: Readonly<Record<string, unknown>> = read.data
  const key = name ?? audienceId
  const startsAt = typeof at === 'string' ? new Date(at) : null
  return { ok: true, trigger: { type, config: read.data, key: typeof key === 'string' ? key : null, startsAt } }
}
