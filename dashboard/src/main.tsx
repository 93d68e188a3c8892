import './styles.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

const root = document.querySelector('#root')
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <p>Mailstead</p>
    </StrictMode>,
  )
