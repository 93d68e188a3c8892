/** One line that says what a step does. */
import type { useTexts } from '#dashboard/src/texts/language.tsx'
import { readDelay } from './delay-units.ts'
import type { FlowStep } from './flow-document.ts'
import { conditionOf, type FlowTrigger } from './flow-validation.ts'

export type FlowTexts = ReturnType<typeof useTexts>['automations']

export interface Names {
  readonly texts: FlowTexts
  readonly audiences: ReadonlyMap<string, string>
  readonly templates: ReadonlyMap<string, string>
}

export function summaryOf(step: FlowStep, names: Names): string {
  return SUMMARIES[step.type](step, names)
}

export function triggerSummary({ type, config }: FlowTrigger, { texts, audiences }: Names): string {
  const audience = audiences.get(textOf(config['audience_id'])) ?? ''
  const details = {
    contact_event: textOf(config['event_name']),
    contact_added_to_audience: audience,
    date_time: textOf(config['at']),
    manual: '',
  }
  return [texts.triggers[type], details[type]].filter((part) => part !== '').join(': ')
}

type Summary = (step: FlowStep, names: Names) => string

const tag: Summary = (step) => textOf(step['tag'])
const audience: Summary = (step, { audiences }) => audiences.get(textOf(step['audience_id'])) ?? ''
const delay: Summary = (step, { texts }) => {
  const { amount, unit } = readDelay(step['seconds'])
  return texts.duration(amount, unit)
}

const SUMMARIES: Readonly<Record<FlowStep['type'], Summary>> = {
  send_email: (step, { templates }) => textOf(step['subject']) || (templates.get(textOf(step['template_id'])) ?? ''),
  delay,
  condition: (step, { texts }) => {
    const condition = conditionOf(step)
    const type = textOf(condition['type']) as keyof typeof texts.conditions
    if (type === 'attribute') {
      const operator = textOf(condition['operator']) as keyof typeof texts.operators
      return `${textOf(condition['attribute'])} ${texts.operators[operator] ?? texts.operators.equals} ${textOf(condition['value'])}`
    }
    return type === 'has_tag' ? `${texts.conditions.has_tag}: ${textOf(condition['tag'])}` : texts.conditions[type]
  },
  wait_for_event: (step, names) => `${textOf(step['event_name'])} · ${delay(step, names)}`,
  add_tag: tag,
  remove_tag: tag,
  add_to_audience: audience,
  remove_from_audience: audience,
  webhook: (step) => textOf(step['url']),
  exit: () => '',
}

export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
