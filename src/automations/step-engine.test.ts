/** Runs of steps without a database: effects, where the contact waits, and which steps were passed. */
import { assert } from 'chai'
import fc from 'fast-check'
import { compileSteps } from './step-program.ts'
import { readSteps, listSteps } from './steps.ts'
import { runSteps, type StepRunInput, type StepRunResult } from './step-engine.ts'
import { asks, BLANK, FROM, NOW, RULES, run, tag } from './step-engine.test-data.ts'

const describeRun = ({ end, effects, passed }: StepRunResult): string =>
  [
    ...passed.map(({ id, answer }) => (answer === null ? id : `${id}=${answer ? 'yes' : 'no'}`)),
    ...effects.map((effect) =>
      effect.kind === 'mail'
        ? `mail:${effect.step.id}`
        : effect.kind === 'tag'
          ? `${effect.isAdded ? '+' : '-'}${effect.tag}`
          : effect.kind,
    ),
    end.kind === 'waits'
      ? `waits at ${end.step} ${(end.dueMs - NOW) / 1000} s${end.event === null ? '' : ` for ${end.event}`}`
      : end.kind,
  ].join(' ')

const mail = (id: string): object => ({ type: 'send_email', id, subject: 'S', body: 'B', from: FROM })
const AUDIENCE = '01900000-0000-7000-8000-000000000001'

describe('a run of automation steps', () => {
  const ROWS: readonly (readonly [what: string, steps: object[], from: Partial<StepRunInput>, describeRun: string])[] =
    [
      ['no steps', [], {}, 'completed'],
      ['a message, then the end', [mail('m')], {}, 'm mail:m completed'],
      [
        'a delay waits at the following step',
        [mail('m'), { type: 'delay', id: 'd', days: 1 }, mail('n')],
        {},
        'm d mail:m waits at n 86400 s',
      ],
      [
        'a delay as the last step is waited for',
        [mail('m'), { type: 'delay', id: 'd', days: 1 }],
        {},
        'm d mail:m waits at null 86400 s',
      ],
      ['after the last delay', [mail('m'), { type: 'delay', id: 'd', days: 1 }], { step: null }, 'completed'],
      [
        'after the delay',
        [mail('m'), { type: 'delay', id: 'd', days: 1 }, mail('n')],
        { step: 'n' },
        'n mail:n completed',
      ],
      [
        'a branch, then the steps after it',
        [asks('q', { type: 'has_tag', tag: 'vip' }, [tag('y', 'a')], [tag('n', 'b')]), tag('z', 'c')],
        {},
        'q=yes y z +a +c completed',
      ],
      [
        'an empty branch',
        [asks('q', { type: 'has_tag', tag: 'none' }, [tag('y', 'a')], []), tag('z', 'c')],
        {},
        'q=no z +c completed',
      ],
      [
        'a delay at the end of a branch',
        [asks('q', { type: 'has_tag', tag: 'vip' }, [{ type: 'delay', id: 'd', hours: 1 }], []), tag('z', 'c')],
        {},
        'q=yes d waits at z 3600 s',
      ],
      [
        'a condition sees a tag added in the same run',
        [tag('t', 'new'), asks('q', { type: 'has_tag', tag: 'new' }, [tag('y', 'a')], [])],
        {},
        't q=yes y +new +a completed',
      ],
      [
        'a condition sees a tag removed in the same run',
        [tag('t', 'vip', 'remove_tag'), asks('q', { type: 'has_tag', tag: 'vip' }, [], [tag('n', 'b')])],
        {},
        't q=no n -vip +b completed',
      ],
      ['exit', [{ type: 'exit', id: 'x' }, mail('m')], {}, 'x exited'],
      [
        'a wait begins',
        [{ type: 'wait_for_event', id: 'w', event_name: 'paid', hours: 2, yes: [tag('y', 'a')], no: [tag('n', 'b')] }],
        {},
        'waits at w 7200 s for paid',
      ],
      [
        'a wait ends when its event arrives',
        [{ type: 'wait_for_event', id: 'w', event_name: 'paid', hours: 2, yes: [tag('y', 'a')], no: [tag('n', 'b')] }],
        { step: 'w', hasWaited: true, receivedEvents: [{ name: 'paid', properties: null }] },
        'w=yes y +a completed',
      ],
      [
        'a wait ends at once if its event arrived before',
        [
          tag('t', 'x'),
          { type: 'wait_for_event', id: 'w', event_name: 'paid', hours: 2, yes: [tag('y', 'a')], no: [] },
        ],
        { receivedEvents: [{ name: 'paid', properties: null }] },
        't w=yes y +x +a completed',
      ],
      [
        'a wait times out',
        [{ type: 'wait_for_event', id: 'w', event_name: 'paid', hours: 2, yes: [tag('y', 'a')], no: [tag('n', 'b')] }],
        { step: 'w', hasWaited: true },
        'w=no n +b completed',
      ],
      [
        'a second wait starts after the first',
        [
          { type: 'wait_for_event', id: 'w', event_name: 'a', hours: 1 },
          { type: 'wait_for_event', id: 'v', event_name: 'b', hours: 1 },
        ],
        { step: 'w', hasWaited: true, receivedEvents: [{ name: 'a', properties: null }] },
        'w=yes waits at v 3600 s for b',
      ],
      [
        'a contact that refuses messages exits at the mail step',
        [tag('t', 'a'), mail('m'), tag('u', 'b')],
        { refusal: 'unsubscribed' },
        't +a exited',
      ],
      [
        'a contact that refuses messages passes other steps',
        [tag('t', 'a')],
        { refusal: 'unsubscribed' },
        't +a completed',
      ],
      [
        'a contact removed from the audience of the messages exits at the mail step',
        [{ type: 'remove_from_audience', id: 'r', audience_id: AUDIENCE }, mail('m')],
        { audienceId: AUDIENCE },
        'r audience exited',
      ],
      [
        'a contact removed from another audience continues',
        [{ type: 'remove_from_audience', id: 'r', audience_id: AUDIENCE }, mail('m')],
        {},
        'r m audience mail:m completed',
      ],
      ['a step that no longer exists', [mail('m')], { step: 'other' }, 'exited'],
      [
        'audiences and calls',
        [
          { type: 'add_to_audience', id: 'a', audience_id: AUDIENCE },
          { type: 'webhook', id: 'h', url: 'https://hook.example/' },
        ],
        {},
        'a h audience call completed',
      ],
      [
        'opened: the latest message',
        [asks('q', { type: 'opened' }, [tag('y', 'a')], [])],
        {
          mails: [
            { step: 'm', isOpened: true, isClicked: false },
            { step: 'n', isOpened: false, isClicked: false },
          ],
        },
        'q=no completed',
      ],
      [
        'opened: the message of a given step',
        [mail('m'), asks('q', { type: 'opened', step: 'm' }, [tag('y', 'a')], [])],
        {
          step: 'q',
          mails: [
            { step: 'm', isOpened: true, isClicked: false },
            { step: 'n', isOpened: false, isClicked: false },
          ],
        },
        'q=yes y +a completed',
      ],
      [
        'opened: a message sent in the same run',
        [mail('m'), asks('q', { type: 'opened' }, [tag('y', 'a')], [])],
        { mails: [{ step: 'm', isOpened: true, isClicked: true }] },
        'm q=no mail:m completed',
      ],
      ['clicked without any message', [asks('q', { type: 'clicked' }, [tag('y', 'a')], [])], {}, 'q=no completed'],
    ]
  for (const [what, steps, from, expected] of ROWS)
    it(what, () => assert.strictEqual(describeRun(run(steps, from)), expected))

  it('a call has the contact as it is after the steps before it', () => {
    const hook = (id: string): object => ({ type: 'webhook', id, url: 'https://hook.example/' })
    const { effects } = run([
      hook('a'),
      tag('t', 'new'),
      hook('b'),
      tag('u', 'vip', 'remove_tag'),
      tag('v', 'new'),
      hook('c'),
    ])
    assert.deepEqual(
      effects.flatMap((effect) => (effect.kind === 'call' ? [[effect.stepId, ...effect.contact.tags]] : [])),
      [
        ['a', 'vip'],
        ['b', 'vip', 'new'],
        ['c', 'new'],
      ],
    )
  })

  it('a message that cannot be sent now waits at its step with a reason', () => {
    const result = run(
      [tag('t', 'a'), mail('m')],
      {},
      { obstacle: () => ({ reason: 'the quota is used up', waitMs: 900_000 }) },
    )
    assert.deepEqual(result.end, {
      kind: 'waits',
      step: 'm',
      dueMs: NOW + 900_000,
      event: null,
      reason: 'the quota is used up',
    })
    assert.deepEqual(
      result.passed.map(({ id }) => id),
      ['t'],
    )
  })
})

describe('any steps', () => {
  const leaf = fc.constantFrom('mail', 'tag', 'delay', 'exit', 'webhook')
  const { list } = fc.letrec<{ list: object[]; one: object }>((tie) => ({
    list: fc.array(tie('one'), { maxLength: 4 }),
    one: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf.map(
        (kind) =>
          ({
            mail: { type: 'send_email', subject: 'S', body: 'B', from: FROM },
            tag: { type: 'add_tag', tag: 't' },
            delay: { type: 'delay', seconds: 5 },
            exit: { type: 'exit' },
            webhook: { type: 'webhook', url: 'https://a.example/' },
          })[kind],
      ),
      fc.record({
        type: fc.constantFrom('condition', 'wait_for_event'),
        event_name: fc.constant('e'),
        seconds: fc.constant(5),
        condition: fc.constantFrom({ type: 'has_tag', tag: 'vip' }, { type: 'has_tag', tag: 't' }, { type: 'opened' }),
        yes: tie('list'),
        no: tie('list'),
      }),
    ),
  }))

  it('a run passes no step twice, continues where it waited, and always ends', () => {
    fc.assert(
      fc.property(list, fc.infiniteStream(fc.boolean()), (input, luck) => {
        const read = readSteps(input)
        if (!read.ok) return // deeper than may be
        const program = compileSteps(read.steps)
        const seen = new Set<string>()
        let runInput: StepRunInput = { ...BLANK, step: program.first }
        for (let rounds = 0; ; rounds++) {
          assert.ok(rounds <= listSteps(read.steps).length + 1)
          const { end, passed } = runSteps(program, runInput, RULES)
          for (const { id } of passed) {
            assert.ok(!seen.has(id), id)
            seen.add(id)
          }
          if (end.kind !== 'waits') return
          assert.ok(end.step === null || program.steps.has(end.step))
          const receivedEvents =
            end.event !== null && luck.next().value === true ? [{ name: end.event, properties: null }] : []
          runInput = { ...runInput, step: end.step, hasWaited: end.event !== null, receivedEvents }
        }
      }),
    )
  })
})
