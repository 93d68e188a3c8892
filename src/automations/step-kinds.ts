/**
 * The kinds of steps, one row each: what it does, its aliases, and its fields as clients write them, normalised to the
 * form that is stored and returned. A new kind needs one row here and one line in docs/guides/automations.md.
 */
import { z } from 'zod'
import {
  aliasOf,
  useTextAsBody,
  contentFields,
  nonEmptyLine,
  normalizeContent,
  singleLine,
  findMissingContent,
  uuid,
} from '#src/campaigns/content.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

/** The same limit as for tags of contacts. */
const MAX_TAG = 100
const MAX_NAME = 255
const MAX_VALUE = 2000
const LONGEST_DELAY_SECONDS = 365 * 24 * 3600
const SECONDS = { seconds: 1, minutes: 60, hours: 3600, days: 86_400, weeks: 604_800 } as const
type Unit = keyof typeof SECONDS

type IssueContext = z.core.$RefinementCtx

const mailFields = z.object(contentFields).transform((given, sink) => {
  const content = useTextAsBody(normalizeContent(given, sink))
  for (const { path, message } of findMissingContent(content)) addIssue(sink, path, message)
  const { template_id, subject, body, text, from, from_name, reply_to } = content
  return {
    template_id: template_id ?? null,
    subject: subject ?? null,
    body: body ?? null,
    ...(text ? { text } : {}),
    from: from ?? '',
    from_name: from_name ?? null,
    reply_to: reply_to ?? null,
  }
})

const amountField = z.number().min(0).nullish()
const duration = z.object({
  seconds: amountField,
  minutes: amountField,
  hours: amountField,
  days: amountField,
  weeks: amountField,
  amount: amountField.meta({ description: 'together with unit' }),
  duration: amountField.meta(aliasOf('amount')),
  value: amountField.meta(aliasOf('amount')),
  unit: z
    .string()
    .nullish()
    .meta({ description: Object.keys(SECONDS).join(', ') }),
  delay_seconds: amountField.meta(aliasOf('seconds')),
})
const delayFields = duration.transform((given, sink) => ({ seconds: readDuration(given, sink) }))
const waitFields = duration
  .extend({
    event_name: nonEmptyLine(MAX_NAME).nullish(),
    eventName: nonEmptyLine(MAX_NAME).nullish().meta(aliasOf('event_name')),
    event: nonEmptyLine(MAX_NAME).nullish().meta(aliasOf('event_name')),
  })
  .transform((given, sink) => {
    const name = given.event_name ?? given.eventName ?? given.event
    if (name === undefined || name === null) addIssue(sink, 'event_name', 'is required')
    return { event_name: name?.trim() ?? '', seconds: readDuration(given, sink) }
  })

function readDuration(given: z.output<typeof duration>, sink: IssueContext): number {
  const units = Object.keys(SECONDS) as Unit[]
  const unit = readUnit(given.unit, sink)
  const fixedSeconds = units.reduce((sum, name) => sum + (given[name] ?? 0) * SECONDS[name], given.delay_seconds ?? 0)
  const seconds = Math.round(fixedSeconds + (given.amount ?? given.duration ?? given.value ?? 0) * SECONDS[unit])
  if (seconds < 1 || seconds > LONGEST_DELAY_SECONDS) addIssue(sink, 'seconds', 'must be from 1 second to 365 days')
  return seconds
}

function readUnit(input: string | null | undefined, sink: IssueContext): Unit {
  const name = (input ?? 'seconds').trim().toLowerCase()
  const unit = (Object.keys(SECONDS) as Unit[]).find((one) => one === name || one === `${name}s` || one[0] === name)
  if (unit === undefined) addIssue(sink, 'unit', oneOfText(Object.keys(SECONDS), name))
  return unit ?? 'seconds'
}

/** Comparison operators. Those without a value test for presence. `aliases` lists other accepted spellings. */
export const OPERATORS = {
  equals: { hasValue: true, aliases: ['eq', '=', '==', 'is'] },
  not_equals: { hasValue: true, aliases: ['ne', 'neq', '!=', '<>', 'is_not'] },
  contains: { hasValue: true, aliases: [] },
  not_contains: { hasValue: true, aliases: [] },
  greater_than: { hasValue: true, aliases: ['gt', '>'] },
  less_than: { hasValue: true, aliases: ['lt', '<'] },
  exists: { hasValue: false, aliases: ['is_set', 'present'] },
  not_exists: { hasValue: false, aliases: ['is_not_set', 'absent'] },
} as const
type Operator = keyof typeof OPERATORS

const WHICH_MAIL = 'id of a send_email step; the latest mail of this automation when left out'
const mailCondition = z
  .object({ step: z.string().max(64).nullish().meta({ description: WHICH_MAIL }) })
  .transform(({ step }) => ({ step: step ?? null }))
const comparedValue = z
  .union([z.string().max(MAX_VALUE), z.number(), z.boolean()], 'must be a string, a number or a boolean')
  .nullish()
const attributeCondition = z
  .object({
    attribute: nonEmptyLine(MAX_NAME)
      .nullish()
      .meta({ description: 'a field such as first_name, a custom attribute, or event.<property>' }),
    field: nonEmptyLine(MAX_NAME).nullish().meta(aliasOf('attribute')),
    name: nonEmptyLine(MAX_NAME).nullish().meta(aliasOf('attribute')),
    operator: z
      .string()
      .nullish()
      .meta({ description: `${Object.keys(OPERATORS).join(', ')}; equals when left out` }),
    value: comparedValue,
  })
  .transform((given, sink) => {
    const name = given.attribute ?? given.field ?? given.name
    const operator = readOperator(given.operator ?? 'equals')
    if (name === undefined || name === null) addIssue(sink, 'attribute', 'is required')
    if (operator === null) addIssue(sink, 'operator', oneOfText(Object.keys(OPERATORS), given.operator))
    const hasValue = operator !== null && OPERATORS[operator].hasValue
    if (hasValue && (given.value === undefined || given.value === null)) addIssue(sink, 'value', 'is required')
    return { attribute: name ?? '', operator: operator ?? 'equals', value: hasValue ? (given.value ?? null) : null }
  })

function readOperator(input: string): Operator | null {
  const name = normalizeName(input)
  const found = Object.entries(OPERATORS).find(
    ([own, { aliases }]) => own === name || aliases.some((alias) => alias === name),
  )
  return (found?.[0] as Operator | undefined) ?? null
}

/** The kinds of conditions, one row each. */
export const CONDITIONS = {
  opened: { does: 'an email of this automation was opened', aliases: ['email_opened'], fields: mailCondition },
  clicked: {
    does: 'a link in an email of this automation was clicked',
    aliases: ['email_clicked'],
    fields: mailCondition,
  },
  has_tag: {
    does: 'the contact has the tag',
    aliases: ['tag'],
    fields: z.object({ tag: nonEmptyLine(MAX_TAG).trim() }),
  },
  attribute: {
    does: 'a field or attribute of the contact, or a property of the event, matches the comparison',
    aliases: ['attribute_compare', 'compare'],
    fields: attributeCondition,
  },
} as const

const tagFields = z.object({ tag: nonEmptyLine(MAX_TAG).trim() })
const audienceFields = z
  .object({ audience_id: uuid.nullish(), audienceId: uuid.nullish().meta(aliasOf('audience_id')) })
  .transform((given, sink) => {
    const id = given.audience_id ?? given.audienceId
    if (id === undefined || id === null) addIssue(sink, 'audience_id', 'is required')
    return { audience_id: id ?? '' }
  })

const webhookFields = z.object({ url: singleLine(2048).trim() })

export const STEP_KINDS = {
  send_email: {
    does: 'sends an email, from a template or with its own subject and body',
    aliases: ['email', 'send'],
    fields: mailFields,
  },
  delay: { does: 'waits, from one second to one year', aliases: ['wait'], fields: delayFields },
  condition: {
    does: 'evaluates a condition, runs the steps of `yes` or of `no`, then continues with the next step',
    aliases: ['if', 'branch'],
    fields: z.object({}),
  },
  wait_for_event: {
    does:
      'waits for an event of the contact; runs the steps of `yes` when it comes, or of `no` when the time is over, ' +
      'then continues with the next step',
    aliases: ['wait_for', 'wait_until'],
    fields: waitFields,
  },
  add_tag: { does: 'adds a tag to the contact', aliases: ['tag'], fields: tagFields },
  remove_tag: { does: 'removes a tag from the contact', aliases: ['untag'], fields: tagFields },
  add_to_audience: { does: 'adds the contact to an audience', aliases: ['add_audience'], fields: audienceFields },
  remove_from_audience: {
    does: 'removes the contact from an audience',
    aliases: ['remove_audience'],
    fields: audienceFields,
  },
  webhook: {
    does: 'posts the contact and the event to a URL',
    aliases: ['call_webhook', 'http'],
    fields: webhookFields,
  },
  exit: { does: 'ends the automation for this contact', aliases: ['stop', 'end'], fields: z.object({}) },
} as const

/** `sendEmail`, `Send Email`, `send-email` and `send_email` are the same name. */
function normalizeName(input: string): string {
  return input
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
}

/** Finds the row of a table by its name or an alias. */
export function findKind<K extends string>(
  table: Readonly<Record<K, { readonly aliases: readonly string[] }>>,
  input: string,
): K | null {
  const name = normalizeName(input)
  const names = Object.keys(table) as K[]
  return names.find((kind) => kind === name) ?? names.find((kind) => table[kind].aliases.includes(name)) ?? null
}

function addIssue(sink: IssueContext, path: string, message: string): void {
  sink.addIssue({ code: 'custom', path: [path], message })
}
