/** A contact, short forms of steps, and a run of them without a database. */
import { assert } from 'chai'
import type { ContactFields } from '#src/contacts/contact-fields.ts'
import { compileSteps } from './step-program.ts'
import { readSteps, type Step } from './steps.ts'
import { runSteps, type StepRunInput, type StepRunResult, type StepRunRules } from './step-engine.ts'

export const NOW = Date.UTC(2030, 0, 1)
export const FROM = 'shop@sender.example'
const ADA: ContactFields = {
  id: 'c',
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: null,
  companyName: 'Engines',
  jobTitle: null,
  phoneNumber: null,
  linkedin: null,
  timezone: null,
  tags: ['vip'],
  customAttributes: { plan: 'pro', seats: 12, since: '2029-05-01', address: { city: 'Bern' } },
}
export const RULES: StepRunRules = { nowMs: NOW, obstacle: () => null }
export const BLANK: StepRunInput = {
  contact: ADA,
  event: { total: '19.90' },
  mails: [],
  step: null,
  hasWaited: false,
  receivedEvents: [],
  audienceId: null,
  refusal: null,
}

function stepsOf(input: readonly unknown[]): readonly Step[] {
  const read = readSteps(input)
  assert.ok(read.ok, JSON.stringify(read))
  return read.steps
}

export function run(
  input: readonly unknown[],
  from: Partial<StepRunInput> = {},
  rules: Partial<StepRunRules> = {},
): StepRunResult {
  const program = compileSteps(stepsOf(input))
  return runSteps(program, { ...BLANK, step: program.first, ...from }, { ...RULES, ...rules })
}

export const tag = (id: string, name: string, type = 'add_tag'): object => ({ type, id, tag: name })
export const asks = (id: string, condition: object, yes: object[], no: object[]): object => ({
  type: 'condition',
  id,
  condition,
  yes,
  no,
})
