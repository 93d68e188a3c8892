import { assert } from 'chai'
import { newStep, type FlowStep } from './flow-document.ts'
import { validateFlow, type FlowTrigger } from './flow-validation.ts'

const MANUAL: FlowTrigger = { type: 'manual', config: {} }
const MAIL: FlowStep = { ...newStep('send_email', 'mail'), template_id: 't', from: 'a@example.com' }
const codes = (trigger: FlowTrigger, steps: readonly FlowStep[]): string =>
  validateFlow(trigger, steps)
    .map(({ at, code }) => `${at} ${code}`)
    .join(', ')

describe('dashboard: validation of a flow', () => {
  const TRIGGERS: readonly [FlowTrigger['type'], FlowTrigger['config'], string][] = [
    ['manual', {}, ''],
    ['contact_event', {}, 'trigger event'],
    ['contact_event', { event_name: 'order.paid' }, ''],
    ['contact_added_to_audience', { audience_id: '' }, 'trigger audience'],
    ['date_time', {}, 'trigger time'],
  ]
  for (const [type, config, expected] of TRIGGERS)
    it(`trigger ${type} ${JSON.stringify(config)}: ${expected || 'right'}`, () => {
      assert.strictEqual(codes({ type, config }, [MAIL]), expected)
    })

  const STEPS: readonly [string, readonly FlowStep[], string][] = [
    ['no steps', [], 'null no-steps'],
    ['a new mail', [newStep('send_email', 'x')], 'x content, x from'],
    ['own content', [{ ...newStep('send_email', 'x'), subject: 's', body: 'b', from: 'f' }], ''],
    ['no delay', [{ ...newStep('delay', 'x'), seconds: 0 }], 'x delay'],
    ['two years', [{ ...newStep('delay', 'x'), seconds: 2 * 366 * 86_400 }], 'x delay'],
    ['a new tag', [newStep('add_tag', 'x')], 'x tag'],
    ['a new audience', [newStep('add_to_audience', 'x')], 'x audience'],
    ['a webhook without scheme', [{ ...newStep('webhook', 'x'), url: 'example.com' }], 'x url'],
    ['an opened mail that is not sent before', [newStep('condition', 'x'), MAIL], 'x earlier-mail'],
    ['an opened mail', [MAIL, newStep('condition', 'x')], ''],
    ['a new wait', [newStep('wait_for_event', 'x')], 'x event'],
    ['a step behind an exit', [MAIL, newStep('exit', 'e'), newStep('exit', 'x')], 'x unreachable'],
    ['a problem in a branch', [MAIL, { ...newStep('condition', 'c'), no: [newStep('remove_tag', 'x')] }], 'x tag'],
  ]
  for (const [name, steps, expected] of STEPS)
    it(`${name}: ${expected || 'right'}`, () => {
      assert.strictEqual(codes(MANUAL, steps), expected)
    })
})
