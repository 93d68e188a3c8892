/** The properties of the selected block. Each type shows those it uses. */
import type { ReactNode } from 'react'
import { AlignCenter, AlignLeft, AlignRight } from '#dashboard/src/ui/icons.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { TextArea } from '#dashboard/src/ui/text-area.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { ALIGNMENTS, type Block, type BlockType, type DocumentStyle } from './block-document.ts'
import { ColorField } from './color-field.tsx'
import { readableOn } from './contrast.ts'
import { RichTextField } from './rich-text-field.tsx'
import { safeUrl } from './inline-text.ts'

interface BlockPropertiesProps {
  readonly block: Block
  readonly style: DocumentStyle
  readonly onChange: (change: Partial<Block>) => void
}

type Property = (props: BlockPropertiesProps) => ReactNode

const LEVELS = ['1', '2', '3'] as const
const ALIGN_ICONS = { left: AlignLeft, center: AlignCenter, right: AlignRight }

function RichText({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return <RichTextField label={templates.text} value={block.text} onChange={(text) => onChange({ text })} />
}

function PlainText({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <Field label={templates.text}>
      <TextInput value={block.text} onChange={(text) => onChange({ text })} />
    </Field>
  )
}

function Items({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <>
      <Field label={templates.items} hint={templates.itemsHint}>
        <TextArea value={block.text} onChange={(text) => onChange({ text })} />
      </Field>
      <Checkbox
        label={templates.numbered}
        isChecked={block.isNumbered}
        onChange={(isNumbered) => onChange({ isNumbered })}
      />
    </>
  )
}

function Level({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <Labelled label={templates.level}>
      <SegmentedControl
        label={templates.level}
        value={LEVELS[block.level - 1] ?? '1'}
        onChange={(level) => onChange({ level: Number(level) })}
        segments={LEVELS.map((value) => ({ value, label: value }))}
      />
    </Labelled>
  )
}

function Target({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  const isWrong = block.href !== '' && safeUrl(block.href) === null
  return (
    <Field label={templates.target} hint={templates.targetHint} error={isWrong ? templates.badUrl : undefined}>
      <TextInput value={block.href} spellCheck={false} onChange={(href) => onChange({ href })} />
    </Field>
  )
}

function Source({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  const isWrong = block.src !== '' && safeUrl(block.src) === null
  return (
    <>
      <Field label={templates.imageUrl} error={isWrong ? templates.badUrl : undefined}>
        <TextInput value={block.src} spellCheck={false} placeholder="https://…" onChange={(src) => onChange({ src })} />
      </Field>
      <Field label={templates.alt} hint={templates.altHint}>
        <TextInput value={block.alt} onChange={(alt) => onChange({ alt })} />
      </Field>
    </>
  )
}

function LinkLabel({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <Field label={templates.unsubscribeLabel} hint={templates.unsubscribeHint}>
      <TextInput value={block.alt} onChange={(alt) => onChange({ alt })} />
    </Field>
  )
}

function Width({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <Field label={block.type === 'columns' ? templates.leftWidth : templates.imageWidth}>
      <NumberInput
        value={block.width}
        min={10}
        max={block.type === 'columns' ? 90 : 100}
        step={5}
        onChange={(width) =>
          onChange({ width: Math.min(Math.max(width ?? 50, 10), block.type === 'columns' ? 90 : 100) })
        }
      />
    </Field>
  )
}

function Height({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <Field label={templates.height}>
      <NumberInput
        value={block.height}
        min={4}
        max={200}
        step={4}
        onChange={(height) => onChange({ height: Math.min(Math.max(height ?? 24, 4), 200) })}
      />
    </Field>
  )
}

function Align({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <Labelled label={templates.align}>
      <SegmentedControl
        label={templates.align}
        value={block.align}
        onChange={(align) => onChange({ align })}
        segments={ALIGNMENTS.map((value) => ({
          value,
          label: templates.alignments[value],
          icon: ALIGN_ICONS[value],
          isIconOnly: true,
        }))}
      />
    </Labelled>
  )
}

function Padding({ block, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <Field label={templates.padding}>
      <NumberInput
        value={block.padding}
        min={0}
        max={64}
        step={4}
        onChange={(padding) => onChange({ padding: Math.min(Math.max(padding ?? 0, 0), 64) })}
      />
    </Field>
  )
}

function Color({ block, style, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  const isButton = block.type === 'button'
  const behind = block.background ?? (isButton ? style.accent : style.surface)
  return (
    <ColorField
      label={block.type === 'divider' ? templates.lineColor : templates.textColor}
      value={block.color}
      otherwise={isButton ? readableOn(behind) : style.text}
      against={block.type === 'divider' ? null : behind}
      onChange={(color) => onChange({ color })}
    />
  )
}

function Background({ block, style, onChange }: BlockPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <ColorField
      label={block.type === 'button' ? templates.buttonColor : templates.background}
      value={block.background}
      otherwise={block.type === 'button' ? style.accent : style.surface}
      against={null}
      onChange={(background) => onChange({ background })}
    />
  )
}

const PROPERTIES: Readonly<Record<BlockType, readonly Property[]>> = {
  heading: [RichText, Level, Align, Color, Background, Padding],
  text: [RichText, Align, Color, Background, Padding],
  button: [PlainText, Target, Align, Background, Color, Padding],
  image: [Source, Target, Width, Align, Background, Padding],
  list: [Items, Color, Background, Padding],
  divider: [Color, Padding],
  spacer: [Height, Background],
  columns: [Width, Background, Padding],
  footer: [RichText, LinkLabel, Align, Color, Background, Padding],
}

export function BlockProperties(props: BlockPropertiesProps): ReactNode {
  return (
    <div className="flex flex-col gap-4">
      {PROPERTIES[props.block.type].map((Part) => (
        <Part key={Part.name} {...props} />
      ))}
    </div>
  )
}

function Labelled({ label, children }: { readonly label: string; readonly children: ReactNode }): ReactNode {
  return (
    <div className="flex flex-col items-start gap-1.5">
      <span aria-hidden="true" className="text-sm font-medium text-ink">
        {label}
      </span>
      {children}
    </div>
  )
}
