import { assert } from 'chai'
import {
  changeStep,
  findStep,
  insertStep,
  listSteps,
  moveStep,
  newStep,
  removeStep,
  stepOfPath,
  STEP_TYPES,
  type FlowStep,
} from './flow-document.ts'

const FLOW: readonly FlowStep[] = [
  newStep('send_email', 'mail'),
  {
    ...newStep('condition', 'if'),
    yes: [newStep('add_tag', 'tag')],
    no: [newStep('delay', 'wait'), newStep('exit', 'end')],
  },
  newStep('webhook', 'hook'),
]
const idsOf = (steps: readonly FlowStep[]): string =>
  listSteps(steps)
    .map(({ step }) => step.id)
    .join(' ')

describe('dashboard: steps of an automation', () => {
  it('lists the steps with their paths, as the API names them', () => {
    assert.deepEqual(
      listSteps(FLOW).map(({ step, path, depth }) => [step.id, path, depth]),
      [
        ['mail', 'steps.0', 0],
        ['if', 'steps.1', 0],
        ['tag', 'steps.1.yes.0', 1],
        ['wait', 'steps.1.no.0', 1],
        ['end', 'steps.1.no.1', 1],
        ['hook', 'steps.2', 0],
      ],
    )
  })

  const INSERTED: readonly [string, number, string][] = [
    ['steps', 0, 'new mail if tag wait end hook'],
    ['steps', 3, 'mail if tag wait end hook new'],
    ['steps.1.yes', 1, 'mail if tag new wait end hook'],
    ['steps.1.no', 1, 'mail if tag wait new end hook'],
    ['steps.7.no', 0, 'mail if tag wait end hook'],
  ]
  for (const [list, index, expected] of INSERTED)
    it(`inserts at ${list} ${index}`, () => {
      assert.strictEqual(idsOf(insertStep(FLOW, { list, index }, newStep('exit', 'new'))), expected)
      assert.strictEqual(idsOf(FLOW), 'mail if tag wait end hook')
    })

  it('what is inserted and removed again leaves the flow as it was, for each type', () => {
    for (const type of STEP_TYPES) {
      const changed = insertStep(FLOW, { list: 'steps.1.yes', index: 0 }, newStep(type, 'new'))
      assert.strictEqual(findStep(changed, 'new')?.type, type)
      assert.deepEqual(removeStep(changed, 'new'), FLOW)
    }
  })

  it('removes a condition with its branches', () => {
    assert.strictEqual(idsOf(removeStep(FLOW, 'if')), 'mail hook')
  })

  it('changes and moves a step within its list', () => {
    assert.strictEqual(findStep(changeStep(FLOW, 'tag', { tag: 'vip' }), 'tag')?.['tag'], 'vip')
    assert.strictEqual(idsOf(moveStep(FLOW, 'wait', 1)), 'mail if tag end wait hook')
    assert.strictEqual(idsOf(moveStep(FLOW, 'mail', -1)), idsOf(FLOW))
    assert.strictEqual(idsOf(moveStep(FLOW, 'mail', 1)), 'if tag wait end mail hook')
  })

  const PATHS: readonly [string, string | null][] = [
    ['steps.1.no.0.seconds', 'wait'],
    ['steps.1.condition', 'if'],
    ['steps.1', 'if'],
    ['trigger_config.audience_id', 'trigger'],
    ['steps', null],
    ['name', null],
  ]
  for (const [path, expected] of PATHS)
    it(`an error at ${path} belongs to ${expected}`, () => {
      assert.strictEqual(stepOfPath(FLOW, path), expected)
    })
})
