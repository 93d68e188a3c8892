import { Card } from '#dashboard/src/ui/card.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'

const COLORS = [
  ['background', 'bg-background'],
  ['surface', 'bg-surface'],
  ['sunken', 'bg-sunken'],
  ['hover', 'bg-hover'],
  ['line', 'bg-line'],
  ['line-strong', 'bg-line-strong'],
  ['control', 'bg-control'],
  ['accent', 'bg-accent'],
  ['accent-soft', 'bg-accent-soft'],
  ['success', 'bg-success'],
  ['success-soft', 'bg-success-soft'],
  ['warning', 'bg-warning'],
  ['warning-soft', 'bg-warning-soft'],
  ['danger', 'bg-danger'],
  ['danger-soft', 'bg-danger-soft'],
  ['info', 'bg-info'],
  ['info-soft', 'bg-info-soft'],
  ['chart-1', 'bg-chart-1'],
  ['chart-2', 'bg-chart-2'],
  ['chart-3', 'bg-chart-3'],
  ['chart-4', 'bg-chart-4'],
  ['chart-5', 'bg-chart-5'],
  ['chart-6', 'bg-chart-6'],
] as const

const TYPE = [
  ['text-2xl font-semibold tracking-tight', '26', '24,318 delivered'],
  ['text-xl font-semibold tracking-tight', '20', 'Title of a page'],
  ['text-lg font-semibold', '16', 'Title of a section'],
  ['text-base', '14', 'Text: the receiver answered 250 2.0.0 OK.'],
  ['text-sm text-muted', '13', 'Hints, captions, labels'],
  ['text-xs text-faint', '12', 'Heads of tables, keys'],
] as const

export function Foundations() {
  return (
    <Section
      title="Foundations"
      id="foundations"
      description="Colours by meaning, one scale of type, spacing in steps of 4 pixels."
    >
      <div className="grid gap-4 lg:grid-cols-2">
        <Card>
          <ul className="grid grid-cols-3 gap-3 sm:grid-cols-4">
            {COLORS.map(([name, look]) => (
              <li key={name} className="min-w-0 text-xs text-muted">
                <span className={`mb-1 block h-8 rounded-md border border-line ${look}`} />
                <span className="block truncate">{name}</span>
              </li>
            ))}
          </ul>
        </Card>
        <Card className="flex flex-col justify-between gap-3">
          {TYPE.map(([look, size, text]) => (
            <div key={size} className="flex items-baseline gap-4">
              <span className="w-6 shrink-0 text-xs text-faint">{size}</span>
              <span className={`min-w-0 ${look}`}>{text}</span>
            </div>
          ))}
        </Card>
      </div>
    </Section>
  )
}
