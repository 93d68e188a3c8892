/** The flow as a drawing. It is laid out by itself; nodes are buttons, and the plus between them adds a step. */
import '@xyflow/react/dist/base.css'
import './flow-canvas.css'
import { Controls, Handle, Position, ReactFlow, type Edge, type Node, type NodeProps } from '@xyflow/react'
import { CircleCheck, Zap } from '#dashboard/src/ui/icons.tsx'
import { useMemo, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { cx } from '#dashboard/src/ui/class-names.ts'
import { AddStepMenu } from './add-step-menu.tsx'
import { labelOfPoint, useFlowEditor } from './flow-editor.ts'
import { ADD_SIZE, edgesOfPath, layoutFlow, NODE_HEIGHT, NODE_WIDTH, type FlowNode } from './flow-layout.ts'
import { StepCard } from './step-card.tsx'
import { triggerSummary } from './step-summary.ts'

type DrawnNode = Node<{ readonly node: FlowNode }>

export function FlowCanvas(): ReactNode {
  const { automations } = useTexts()
  const { flow, passed } = useFlowEditor()
  const graph = useMemo(() => layoutFlow(flow.steps), [flow.steps])
  const nodes = useMemo(() => graph.nodes.map(toNode), [graph])
  const edges = useMemo(() => {
    const ofPath = passed === null ? new Set<string>() : edgesOfPath(graph, passed)
    return graph.edges.map(({ id, source, target, branch }): Edge => ({
      id,
      source,
      target,
      type: 'smoothstep',
      focusable: false,
      ...(branch === null ? {} : { label: automations[branch] }),
      ...(ofPath.has(id) ? { className: 'flow-edge-passed' } : {}),
    }))
  }, [graph, passed, automations])
  return (
    <div className="flow-canvas h-[70vh] min-h-96 overflow-hidden rounded-lg border border-line bg-sunken">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        deleteKeyCode={null}
        panOnScroll
        fitView
        fitViewOptions={{ maxZoom: 1, minZoom: 0.5, padding: 0.1 }}
        minZoom={0.3}
        maxZoom={1.5}
        proOptions={{ hideAttribution: true }}
        aria-label={automations.tabs.canvas}
      >
        <Controls showInteractive={false} />
      </ReactFlow>
    </div>
  )
}

function toNode(node: FlowNode): DrawnNode {
  const size = node.kind === 'add' ? ADD_SIZE : NODE_WIDTH
  return {
    id: node.id,
    type: node.kind,
    position: { x: node.x, y: node.y },
    width: size,
    height: node.kind === 'add' ? ADD_SIZE : NODE_HEIGHT,
    data: { node },
  }
}

function Handles(): ReactNode {
  return (
    <>
      <Handle type="target" position={Position.Top} isConnectable={false} />
      <Handle type="source" position={Position.Bottom} isConnectable={false} />
    </>
  )
}

function TriggerNode(): ReactNode {
  const { automations } = useTexts()
  const { flow, names } = useFlowEditor()
  return (
    <>
      <StepCard id="trigger" icon={Zap} title={automations.trigger} summary={triggerSummary(flow.trigger, names)} />
      <Handles />
    </>
  )
}

function StepNode({ data: { node } }: NodeProps<DrawnNode>): ReactNode {
  return (
    <>
      {node.step !== undefined && <StepCard id={node.id} step={node.step} />}
      <Handles />
    </>
  )
}

function AddNode({ data: { node } }: NodeProps<DrawnNode>): ReactNode {
  const { automations } = useTexts()
  const editor = useFlowEditor()
  const { point } = node
  return (
    <div className="nodrag nopan flex size-7 items-center justify-center">
      {point !== undefined && editor.mayChange && (
        <AddStepMenu label={labelOfPoint(editor, point, automations)} onAdd={(type) => editor.add(point, type)} />
      )}
      <Handles />
    </div>
  )
}

function EndNode(): ReactNode {
  const { automations } = useTexts()
  return (
    <div className={cx('flex w-full justify-center text-sm text-muted')}>
      <span className="flex items-center gap-1.5 rounded-full border border-line bg-surface px-3 py-1">
        <CircleCheck size={14} aria-hidden="true" />
        {automations.end}
      </span>
      <Handles />
    </div>
  )
}

const NODE_TYPES = { trigger: TriggerNode, step: StepNode, add: AddNode, end: EndNode }
