import { assert } from 'chai'
import { newStep, type FlowStep } from './flow-document.ts'
import { edgesOfPath, layoutFlow, NODE_HEIGHT, NODE_WIDTH } from './flow-layout.ts'

const FLOW: readonly FlowStep[] = [
  newStep('send_email', 'mail'),
  {
    ...newStep('condition', 'if'),
    yes: [newStep('add_tag', 'tag')],
    no: [{ ...newStep('condition', 'if2'), yes: [newStep('delay', 'wait')], no: [newStep('exit', 'exit')] }],
  },
  newStep('webhook', 'hook'),
]

describe('dashboard: layout of a flow', () => {
  it('no two boxes overlap, and every edge leads down', () => {
    const { nodes, edges } = layoutFlow(FLOW)
    const boxes = nodes.filter(({ kind }) => kind !== 'add')
    for (const [index, a] of boxes.entries())
      for (const b of boxes.slice(index + 1)) {
        const isApart = Math.abs(a.x - b.x) >= NODE_WIDTH || Math.abs(a.y - b.y) >= NODE_HEIGHT
        assert.isTrue(isApart, `${a.id} and ${b.id}`)
      }
    const yOf = (id: string): number => nodes.find((node) => node.id === id)?.y ?? Number.NaN
    for (const { source, target } of edges) assert.isBelow(yOf(source), yOf(target), `${source} to ${target}`)
  })

  it('has a place to add a step before and after each step, once', () => {
    const points = layoutFlow(FLOW).nodes.flatMap(({ kind, id }) => (kind === 'add' ? [id] : []))
    assert.lengthOf(points, new Set(points).size)
    assert.includeMembers(points, ['add:steps:0', 'add:steps:3', 'add:steps.1.yes:1', 'add:steps.1.no.0.no:1'])
  })

  it('nothing follows an exit, and an empty flow leads from its trigger to the end', () => {
    assert.isFalse(layoutFlow(FLOW).edges.some(({ source }) => source === 'exit'))
    assert.deepEqual(
      layoutFlow([]).edges.map(({ source, target }) => [source, target]),
      [
        ['trigger', 'add:steps:0'],
        ['add:steps:0', 'end'],
      ],
    )
  })

  it('a path has the edges between the passed steps only', () => {
    const path = edgesOfPath(layoutFlow(FLOW), new Set(['mail', 'if', 'tag', 'hook']))
    assert.includeMembers(
      [...path],
      ['trigger>add:steps:0', 'add:steps:0>mail', 'if>add:steps.1.yes:0', 'add:steps.1.yes:0>tag', 'add:steps:2>hook'],
    )
    assert.isFalse([...path].some((id) => id.includes('if2') || id.includes('.no')))
  })
})
