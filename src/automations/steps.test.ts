import { assert } from 'chai'
import fc from 'fast-check'
import { MAX_DEPTH, MAX_STEPS, listSteps, readSteps, type Step } from './steps.ts'
import { STEP_KINDS } from './step-kinds.ts'

const AUDIENCE = '0190a0a0-0000-7000-8000-0000000000aa'
const MAIL = { type: 'send_email', id: 'm', subject: 'Hi', body: 'x', from: 'me@a.example' }
const WHOLE_MAIL = {
  id: 'm',
  type: 'send_email',
  template_id: null,
  subject: 'Hi',
  body: 'x',
  from: 'me@a.example',
  from_name: null,
  reply_to: null,
}

function read(input: readonly unknown[]): readonly Step[] {
  const result = readSteps(input)
  assert.ok(result.ok, JSON.stringify(result))
  return result.steps
}

function wrong(input: readonly unknown[]): string[] {
  const result = readSteps(input)
  return result.ok ? [] : result.details.map(({ path }) => path)
}

/** A step of each kind and the form in which it is stored, without its id. */
const FORMS: readonly (readonly [what: string, input: object, stored: object])[] = [
  ['a mail', MAIL, WHOLE_MAIL],
  [
    'a message by its aliases',
    { kind: 'sendEmail', id: 'm', subject: 'Hi', html: 'x', from_email: { email: 'me@a.example' } },
    WHOLE_MAIL,
  ],
  [
    'a message with name and address in one field',
    { ...MAIL, from: 'Me <me@a.example>' },
    { ...WHOLE_MAIL, from_name: 'Me' },
  ],
  [
    'a message from a template',
    { type: 'email', id: 'm', templateId: AUDIENCE.toUpperCase(), from: 'me@a.example' },
    { ...WHOLE_MAIL, template_id: AUDIENCE, subject: null, body: null },
  ],
  [
    'a wait for an event',
    { type: 'waitForEvent', event: ' order.paid ', days: 2, yes: [{ type: 'exit', id: 'x' }] },
    { type: 'wait_for_event', event_name: 'order.paid', seconds: 172_800, yes: [{ type: 'exit', id: 'x' }], no: [] },
  ],
  ['a delay', { type: 'delay', seconds: 90 }, { type: 'delay', seconds: 90 }],
  ['a delay in parts', { type: 'wait', days: 1, hours: 2 }, { type: 'delay', seconds: 93_600 }],
  ['a delay with a unit', { type: 'delay', config: { amount: 3, unit: 'day' } }, { type: 'delay', seconds: 259_200 }],
  ['a tag', { type: 'Add Tag', tag: 'vip' }, { type: 'add_tag', tag: 'vip' }],
  ['removal of a tag', { type: 'remove-tag', tag: 'vip' }, { type: 'remove_tag', tag: 'vip' }],
  [
    'an audience',
    { type: 'add_to_audience', audienceId: AUDIENCE },
    { type: 'add_to_audience', audience_id: AUDIENCE },
  ],
  [
    'removal from an audience',
    { type: 'remove_from_audience', audience_id: AUDIENCE },
    { type: 'remove_from_audience', audience_id: AUDIENCE },
  ],
  ['a webhook', { type: 'webhook', url: ' https://a.example/x ' }, { type: 'webhook', url: 'https://a.example/x' }],
  ['the end', { type: 'exit' }, { type: 'exit' }],
  [
    'a condition',
    { type: 'condition', condition: { type: 'has_tag', tag: 'vip' } },
    { type: 'condition', condition: { type: 'has_tag', tag: 'vip' }, yes: [], no: [] },
  ],
  [
    'a condition in one line',
    { type: 'if', condition: 'opened' },
    { type: 'condition', condition: { type: 'opened', step: null }, yes: [], no: [] },
  ],
  [
    'a comparison',
    { type: 'condition', condition: { type: 'attribute', field: 'age', operator: '>', value: 17 } },
    {
      type: 'condition',
      condition: { type: 'attribute', attribute: 'age', operator: 'greater_than', value: 17 },
      yes: [],
      no: [],
    },
  ],
  [
    'a test for presence',
    { type: 'condition', if: { type: 'attribute', attribute: 'event.price', operator: 'exists', value: 1 } },
    {
      type: 'condition',
      condition: { type: 'attribute', attribute: 'event.price', operator: 'exists', value: null },
      yes: [],
      no: [],
    },
  ],
]

const REFUSED: readonly (readonly [why: string, input: readonly unknown[], path: string])[] = [
  ['no kind', [{}], '0.type'],
  ['no object', ['exit'], '0'],
  ['a message without content', [{ type: 'send_email', from: 'a@b.example' }], '0.template_id'],
  ['a message without subject', [{ type: 'send_email', from: 'a@b.example', body: 'x' }], '0.subject'],
  ['a message without sender', [{ type: 'send_email', subject: 'x', body: 'x' }], '0.from'],
  ['a message with template and body', [{ ...MAIL, template_id: AUDIENCE }], '0.template_id'],
  ['no time', [{ type: 'delay' }], '0.seconds'],
  ['more than a year', [{ type: 'delay', days: 366 }], '0.seconds'],
  ['an unknown unit', [{ type: 'delay', amount: 1, unit: 'moons' }], '0.unit'],
  ['a wait for nothing', [{ type: 'wait_for_event', days: 1 }], '0.event_name'],
  ['a wait without an end', [{ type: 'wait_for_event', event_name: 'e' }], '0.seconds'],
  ['an empty tag', [{ type: 'add_tag', tag: '' }], '0.tag'],
  ['a list of tags', [{ type: 'add_tag', tag: ['a', 'b'] }], '0.tag'],
  ['a tag that is too long', [{ type: 'add_tag', tag: 'x'.repeat(101) }], '0.tag'],
  ['no audience', [{ type: 'add_to_audience' }], '0.audience_id'],
  ['no address', [{ type: 'webhook' }], '0.url'],
  ['a condition without type', [{ type: 'condition' }], '0.condition.type'],
  [
    'a comparison without value',
    [{ type: 'condition', condition: { type: 'attribute', attribute: 'age', operator: 'gt' } }],
    '0.condition.value',
  ],
  [
    'an unknown operator',
    [{ type: 'condition', condition: { type: 'attribute', attribute: 'a', operator: '~', value: 1 } }],
    '0.condition.operator',
  ],
  [
    'a reference to an unknown mail step',
    [{ type: 'condition', condition: { type: 'opened', step: 'x' } }],
    '0.condition.step',
  ],
  [
    'a reference to a step that sends nothing',
    [
      { type: 'exit', id: 'x' },
      { type: 'condition', condition: { type: 'clicked', step: 'x' } },
    ],
    '1.condition.step',
  ],
  [
    'one id twice',
    [
      { type: 'exit', id: 'x' },
      { type: 'condition', condition: 'opened', no: [{ type: 'exit', id: 'x' }] },
    ],
    '1.no.0.id',
  ],
  ['an id with spaces', [{ type: 'exit', id: 'a b' }], '0.id'],
  ['a branch that is not a list', [{ type: 'condition', condition: 'opened', yes: {} }], '0.yes'],
  [
    'an invalid step inside a branch',
    [{ type: 'exit' }, { type: 'condition', condition: 'opened', yes: [{ type: 'add_tag' }] }],
    '1.yes.0.tag',
  ],
]

function nest(depth: number): object {
  return depth === 0 ? { type: 'exit' } : { type: 'condition', condition: 'opened', yes: [nest(depth - 1)] }
}

describe('steps', () => {
  it('covers every kind of step', () => {
    const kinds = new Set(FORMS.map(([, , stored]) => (stored as { type: string }).type))
    assert.deepEqual(
      [...kinds].toSorted((a, b) => a.localeCompare(b)),
      Object.keys(STEP_KINDS).toSorted((a, b) => a.localeCompare(b)),
    )
  })
  for (const [what, input, stored] of FORMS) {
    it(`reads ${what}`, () => {
      const [step] = read([input])
      assert.deepEqual(step, { id: step?.id, ...stored })
      assert.deepEqual(read([step]), [step], 'what is answered can be sent back')
    })
  }
  for (const [why, input, path] of REFUSED)
    it(`rejects ${why} and reports the path`, () => assert.ok(wrong(input).includes(path), wrong(input).join()))

  it('gives each step an id and keeps existing ids', () => {
    const [end, both] = [
      { type: 'exit', id: 'mine' },
      { yes: [{ type: 'exit' }], no: [{ type: 'exit' }] },
    ]
    const steps = read([end, { type: 'condition', condition: 'opened', ...both }])
    const ids = listSteps(steps).map(({ step }) => step.id)
    assert.deepEqual([ids[0], new Set(ids).size], ['mine', 4])
    assert.deepEqual(
      listSteps(steps).map(({ path }) => path),
      ['steps.0', 'steps.1', 'steps.1.yes.0', 'steps.1.no.0'],
    )
  })
  it('limits depth and number', () => {
    assert.deepEqual(wrong([nest(MAX_DEPTH)]), [])
    assert.strictEqual(wrong([nest(MAX_DEPTH + 1)]).length, 1)
    const many = (n: number): object[] => Array.from({ length: n }, () => ({ type: 'exit' }))
    assert.deepEqual(wrong(many(MAX_STEPS)), [])
    assert.deepEqual(wrong(many(MAX_STEPS + 1)), [''])
    assert.deepEqual(wrong(many(100_000)), [''])
    assert.strictEqual(wrong([{ type: 'condition', condition: 'opened', yes: many(60), no: many(60) }]).length, 1)
  })
  it('limits the total size', () => {
    const mail = { type: 'send_email', subject: 'x', body: 'x'.repeat(900_000), from: 'me@a.example' }
    assert.deepEqual([wrong([mail, mail]), wrong([mail, mail, mail])], [[], ['']])
  })
  it('never throws, and accepts its own output unchanged', () => {
    const leaf = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(...FORMS.map(([, input]) => input)))
    const question = fc.constantFrom('opened', { type: 'has_tag', tag: 'a' })
    const { step } = fc.letrec<{ step: unknown }>((tie) => {
      const fields = {
        type: fc.constant('condition'),
        condition: question,
        yes: fc.array(tie('step')),
        no: fc.jsonValue(),
      }
      return {
        step: fc.oneof(
          { depthSize: 'small', withCrossShrink: true },
          leaf,
          fc.record(fields, { requiredKeys: ['type'] }),
        ),
      }
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), (input) => {
        const result = readSteps(input)
        if (result.ok) assert.deepEqual(readSteps(JSON.parse(JSON.stringify(result.steps)) as unknown[]), result)
        else assert.ok(result.details.length > 0)
      }),
      { numRuns: 500 },
    )
  })
})
