/** What holds for the whole mail: width, font and colours. */
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { NumberInput } from '#dashboard/src/ui/number-input.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { DEFAULT_STYLE, FONTS, type DocumentStyle } from './block-document.ts'
import { ColorField } from './color-field.tsx'

interface DocumentPropertiesProps {
  readonly style: DocumentStyle
  readonly onChange: (style: Partial<DocumentStyle>) => void
}

const COLORS = ['background', 'surface', 'text', 'accent'] as const

export function DocumentProperties({ style, onChange }: DocumentPropertiesProps): ReactNode {
  const { templates } = useTexts()
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={templates.mailWidth}>
          <NumberInput
            value={style.width}
            min={320}
            max={800}
            step={20}
            onChange={(width) => onChange({ width: Math.min(Math.max(width ?? DEFAULT_STYLE.width, 320), 800) })}
          />
        </Field>
        <Field label={templates.font}>
          <Select
            value={style.font}
            onChange={(font) => onChange({ font })}
            options={FONTS.map((value) => ({ value, label: templates.fonts[value] }))}
          />
        </Field>
      </div>
      {COLORS.map((name) => (
        <ColorField
          key={name}
          label={templates.styleColors[name]}
          value={style[name]}
          otherwise={DEFAULT_STYLE[name]}
          against={name === 'text' || name === 'accent' ? style.surface : null}
          onChange={(color) => onChange({ [name]: color ?? DEFAULT_STYLE[name] })}
        />
      ))}
    </div>
  )
}
