import type { IconComponent } from './icon.tsx'
import { Check } from './icons.tsx'
import { DropdownMenu } from 'radix-ui'
import { Fragment, type ReactNode } from 'react'
import { cx } from './class-names.ts'
import { Kbd } from './kbd.tsx'
import { useNavigateTo } from './ui-link.tsx'

export interface MenuItem {
  label: string
  description?: string | undefined
  icon?: IconComponent | undefined
  shortcut?: string | undefined
  isDanger?: boolean | undefined
  isDisabled?: boolean | undefined
  /** Set on items of which one is chosen. */
  isChecked?: boolean | undefined
  /** Either a link or an action. */
  href?: string | undefined
  onSelect?: (() => void) | undefined
}

export interface MenuGroup {
  label?: string | undefined
  items: readonly MenuItem[]
}

export interface MenuProps {
  /** One button. */
  trigger: ReactNode
  groups: readonly MenuGroup[]
  align?: 'start' | 'end' | undefined
  side?: 'top' | 'bottom' | undefined
}

const ITEM =
  'flex min-h-8 cursor-default items-center gap-2.5 rounded-sm px-2.5 py-1.5 text-base outline-none select-none ' +
  'data-[highlighted]:bg-hover data-[disabled]:opacity-50 pointer-coarse:min-h-11'

function Item({ item }: { item: MenuItem }) {
  const navigate = useNavigateTo()
  const { icon: Icon, href, onSelect } = item
  const attributes = {
    disabled: item.isDisabled === true,
    className: cx(ITEM, item.isDanger === true ? 'text-danger-text' : 'text-ink'),
    onSelect: () => {
      onSelect?.()
      if (href !== undefined) navigate(href)
    },
  }
  const content = (
    <>
      {Icon !== undefined && (
        <Icon size={16} aria-hidden="true" className={cx('shrink-0', item.isDanger !== true && 'text-faint')} />
      )}
      <span className="min-w-0 grow">
        <span className="block truncate">{item.label}</span>
        {item.description !== undefined && <span className="block text-sm text-muted">{item.description}</span>}
      </span>
      {item.shortcut !== undefined && <Kbd keys={item.shortcut} />}
      {item.isChecked === true && <Check size={14} aria-hidden="true" className="shrink-0 text-accent-text" />}
    </>
  )
  if (item.isChecked === undefined) return <DropdownMenu.Item {...attributes}>{content}</DropdownMenu.Item>
  return (
    <DropdownMenu.CheckboxItem {...attributes} checked={item.isChecked}>
      {content}
    </DropdownMenu.CheckboxItem>
  )
}

/** Actions behind one button. Arrow keys and first letters choose. */
export function Menu({ trigger, groups, align = 'end', side = 'bottom' }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          side={side}
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-(--radix-dropdown-menu-content-available-height) max-w-80 min-w-48 animate-appear overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-lg"
        >
          {groups.map((group, index) => (
            <Fragment key={group.label ?? index}>
              {index > 0 && <DropdownMenu.Separator className="-mx-1 my-1 h-px bg-line" />}
              {group.label !== undefined && (
                <DropdownMenu.Label className="px-2.5 pt-1.5 pb-1 text-xs font-medium text-faint">
                  {group.label}
                </DropdownMenu.Label>
              )}
              {group.items.map((item) => (
                <Item key={item.label} item={item} />
              ))}
            </Fragment>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
