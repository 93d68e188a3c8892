/**
 * Where the nodes of a flow stand: from top to bottom, the branches of a step side by side below it, and joined again
 * before what follows. Between any two steps, and at the end of each branch, is a place to add one.
 */
import { hasBranches, type FlowStep, type InsertPoint } from './flow-document.ts'

export const NODE_WIDTH = 260
export const NODE_HEIGHT = 84
export const ADD_SIZE = 28
const ROW_GAP = 28
const COLUMN_GAP = 48

export interface FlowNode {
  readonly id: string
  readonly kind: 'trigger' | 'step' | 'add' | 'end'
  readonly x: number
  readonly y: number
  readonly step?: FlowStep
  readonly point?: InsertPoint
}

export interface FlowEdge {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly branch: 'yes' | 'no' | null
}

export interface FlowGraph {
  readonly nodes: readonly FlowNode[]
  readonly edges: readonly FlowEdge[]
}

interface Drawing {
  readonly nodes: FlowNode[]
  readonly edges: FlowEdge[]
}

export function layoutFlow(steps: readonly FlowStep[]): FlowGraph {
  const drawing: Drawing = { nodes: [], edges: [] }
  const center = widthOf(steps) / 2
  drawing.nodes.push({ id: 'trigger', kind: 'trigger', x: center - NODE_WIDTH / 2, y: 0 })
  const bottom = drawList(drawing, steps, { list: 'steps', center, y: NODE_HEIGHT + ROW_GAP, from: 'trigger' })
  drawing.nodes.push({ id: 'end', kind: 'end', x: center - NODE_WIDTH / 2, y: bottom.y })
  if (bottom.last !== null) connect(drawing, bottom.last, 'end')
  return drawing
}

/** The width of a list: its widest step with the branches below it. */
function widthOf(steps: readonly FlowStep[]): number {
  return Math.max(NODE_WIDTH, ...steps.map((step) => (hasBranches(step) ? branchWidth(step) : NODE_WIDTH)))
}

function branchWidth({ yes = [], no = [] }: FlowStep): number {
  return widthOf(yes) + COLUMN_GAP + widthOf(no)
}

interface ListPosition {
  readonly list: string
  readonly center: number
  readonly y: number
  readonly from: string
  readonly branch?: 'yes' | 'no'
}

interface Bottom {
  readonly y: number
  /** The node that what follows is connected to; null behind an exit. */
  readonly last: string | null
}

function drawList(drawing: Drawing, steps: readonly FlowStep[], place: ListPosition): Bottom {
  const { list, center, branch = null } = place
  let bottom: Bottom = addPoint(drawing, place, 0, { y: place.y, last: null })
  connect(drawing, place.from, idOfPoint({ list, index: 0 }), branch)
  for (const [index, step] of steps.entries()) {
    drawing.nodes.push({ id: step.id, kind: 'step', step, x: center - NODE_WIDTH / 2, y: bottom.y })
    if (bottom.last !== null) connect(drawing, bottom.last, step.id)
    const below = { y: bottom.y + NODE_HEIGHT + ROW_GAP, last: step.type === 'exit' ? null : step.id }
    const ends = hasBranches(step)
      ? drawBranches(drawing, step, { ...place, list: `${list}.${index}`, y: below.y })
      : null
    const point = idOfPoint({ list, index: index + 1 })
    for (const end of ends?.ends ?? [below.last]) if (end !== null) connect(drawing, end, point)
    bottom = addPoint(drawing, place, index + 1, { y: ends?.y ?? below.y, last: null })
  }
  return bottom
}

function drawBranches(
  drawing: Drawing,
  step: FlowStep,
  place: ListPosition,
): { y: number; ends: readonly (string | null)[] } {
  const { yes = [], no = [] } = step
  const left = place.center - branchWidth(step) / 2
  const common = { y: place.y + ROW_GAP / 2, from: step.id }
  const ofYes = drawList(drawing, yes, {
    ...common,
    list: `${place.list}.yes`,
    center: left + widthOf(yes) / 2,
    branch: 'yes',
  })
  const center = left + widthOf(yes) + COLUMN_GAP + widthOf(no) / 2
  const ofNo = drawList(drawing, no, { ...common, list: `${place.list}.no`, center, branch: 'no' })
  return { y: Math.max(ofYes.y, ofNo.y), ends: [ofYes.last, ofNo.last] }
}

/** A place to add a step; what follows is connected to it. */
function addPoint(drawing: Drawing, { list, center }: ListPosition, index: number, { y }: Bottom): Bottom {
  const point = { list, index }
  drawing.nodes.push({ id: idOfPoint(point), kind: 'add', point, x: center - ADD_SIZE / 2, y })
  return { y: y + ADD_SIZE + ROW_GAP, last: idOfPoint(point) }
}

function idOfPoint({ list, index }: InsertPoint): string {
  return `add:${list}:${index}`
}

function connect({ edges }: Drawing, source: string, target: string, branch: FlowEdge['branch'] = null): void {
  edges.push({ id: `${source}>${target}`, source, target, branch })
}

/** The edges of a contact's path: between passed steps, and through the places to add one between them. */
export function edgesOfPath(graph: FlowGraph, passed: ReadonlySet<string>): ReadonlySet<string> {
  const next = Map.groupBy(graph.edges, ({ source }) => source)
  const found = new Set<string>()
  const follow = (node: string, trail: readonly string[]): void => {
    for (const edge of next.get(node) ?? []) {
      const way = [...trail, edge.id]
      if (edge.target.startsWith('add:')) follow(edge.target, way)
      else if (passed.has(edge.target)) for (const id of way) found.add(id)
    }
  }
  for (const id of ['trigger', ...passed]) follow(id, [])
  return found
}
