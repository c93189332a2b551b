// Draws a Grafana dashboard (JSON) and its query results (JSON) with Grafana's own components.
import React from 'react';
import '../node_modules/uplot/dist/uPlot.min.css';
import { createRoot } from 'react-dom/client';
import {
  applyFieldOverrides, createTheme, createDataFrame, displayNameOverrideProcessor, FieldType, getFieldDisplayValues,
  identityOverrideProcessor, LoadingState, numberOverrideProcessor, Registry, standardFieldConfigEditorRegistry,
  thresholdsOverrideProcessor, ThemeContext, unitOverrideProcessor, valueMappingsOverrideProcessor, VizOrientation,
  outerJoinDataFrames, booleanOverrideProcessor, getDisplayValueAlignmentFactors,
} from '@grafana/data';
import { BarGauge, BarGaugeDisplayMode, BigValue, BigValueColorMode, BigValueGraphMode, BigValueTextMode, GlobalStyles, PanelChrome, Table, TimeSeries, VizRepeater } from '@grafana/ui';

const theme = createTheme({ colors: { mode: window.MODE || 'dark' } });
const item = (path, process, isCustom) => ({ id: isCustom ? `custom.${path}` : path, path, isCustom, name: path, process, shouldApply: () => true, override: () => null, editor: () => null });
const standard = [item('displayName', displayNameOverrideProcessor), item('unit', unitOverrideProcessor), item('min', numberOverrideProcessor), item('max', numberOverrideProcessor),
  item('decimals', numberOverrideProcessor), item('thresholds', thresholdsOverrideProcessor), item('mappings', valueMappingsOverrideProcessor), item('noValue', identityOverrideProcessor), item('color', identityOverrideProcessor)];
const CUSTOM = { drawStyle: 'line', lineInterpolation: 'linear', lineWidth: 1, fillOpacity: 0, gradientMode: 'none', barAlignment: 0, barWidthFactor: 0.6, barMaxWidth: 200, showPoints: 'auto', pointSize: 5, spanNulls: false, axisPlacement: 'auto', axisLabel: '', axisColorMode: 'text', axisBorderShow: false,
  scaleDistribution: { type: 'linear' }, stacking: { mode: 'none', group: 'A' }, thresholdsStyle: { mode: 'off' }, hideFrom: { legend: false, tooltip: false, viz: false }, lineStyle: undefined, axisCenteredZero: false, axisSoftMin: undefined, axisSoftMax: undefined, insertNulls: false, align: 'auto', cellOptions: { type: 'auto' }, inspect: false, width: undefined, filterable: false };
const all = [...standard, ...Object.keys(CUSTOM).map((name) => item(name, identityOverrideProcessor, true))];
standardFieldConfigEditorRegistry.setInit(() => standard);
const registry = new Registry(() => all);

function frames(panel, series) {
  const made = series.map((one) => createDataFrame({ refId: one.refId, name: one.name, fields: [
    { name: 'Time', type: FieldType.time, values: one.times, config: {} },
    { name: 'Value', type: FieldType.number, values: one.values, labels: one.labels, config: { displayNameFromDS: one.name } }] }));
  const config = panel.fieldConfig || { defaults: {}, overrides: [] };
  const defaults = { color: { mode: ['timeseries', 'piechart'].includes(panel.type) ? 'palette-classic' : 'thresholds' }, thresholds: { mode: 'absolute', steps: [{ value: -Infinity, color: 'green' }] }, ...config.defaults, custom: { ...CUSTOM, ...(config.defaults?.custom || {}) } };
  if (defaults.thresholds?.steps) defaults.thresholds = { ...defaults.thresholds, steps: defaults.thresholds.steps.map((s, i) => ({ ...s, value: i === 0 || s.value === null ? -Infinity : s.value })) };
  return applyFieldOverrides({ data: made, fieldConfig: { defaults, overrides: config.overrides || [] }, replaceVariables: (v) => v, theme, timeZone: 'utc', fieldConfigRegistry: registry });
}

function Body({ panel, series, width, height, range }) {
  if (panel.type === 'text') return <div style={{ padding: 8 }} dangerouslySetInnerHTML={{ __html: panel.options?.content || '' }} />;
  const data = frames(panel, series);
  if (!data.length) return <div style={{ textAlign: 'center', paddingTop: height / 2 - 10, color: theme.colors.text.secondary }}>No data</div>;
  if (panel.type === 'timeseries') {
    const legend = { displayMode: 'list', placement: 'bottom', calcs: [], showLegend: true, ...(panel.options?.legend || {}) };
    return <TimeSeries frames={data} structureRev={1} timeRange={range} timeZone="utc" width={width} height={height} legend={legend} options={panel.options} replaceVariables={(v) => v} dataLinkPostProcessor={(x) => x}>{() => null}</TimeSeries>;
  }
  const values = getFieldDisplayValues({ fieldConfig: panel.fieldConfig || { defaults: {}, overrides: [] }, reduceOptions: { calcs: ['lastNotNull'], values: false, ...(panel.options?.reduceOptions || {}) }, replaceVariables: (v) => v, theme, data, sparkline: panel.type === 'stat' && panel.options?.graphMode !== 'none', timeZone: 'utc' });
  if (panel.type === 'stat' || panel.type === 'gauge')
    return <VizRepeater getValues={() => values} width={width} height={height} source={data} itemSpacing={3} renderCounter={0} autoGrid orientation={VizOrientation.Auto}
      renderValue={({ value, width, height, count }) => <BigValue value={value.display} sparkline={value.sparkline} width={width} height={height} count={count} theme={theme} colorMode={panel.options?.colorMode || BigValueColorMode.Value} graphMode={panel.options?.graphMode || BigValueGraphMode.Area} textMode={panel.options?.textMode || BigValueTextMode.Auto} />} />;
  if (panel.type === 'bargauge')
    return <VizRepeater getValues={() => values} getAlignmentFactors={getDisplayValueAlignmentFactors} width={width} height={height} source={data} itemSpacing={10} renderCounter={0} minVizHeight={panel.options?.minVizHeight} maxVizHeight={panel.options?.maxVizHeight} orientation={panel.options?.orientation || VizOrientation.Horizontal}
      renderValue={({ value, width, height, orientation, count, alignmentFactors }) => <BarGauge value={value.display} field={value.field} width={width} height={height} orientation={orientation} theme={theme} itemSpacing={10} alignmentFactors={alignmentFactors} lcdCellWidth={12} text={panel.options?.text} valueDisplayMode={panel.options?.valueMode} namePlacement={panel.options?.namePlacement} displayMode={panel.options?.displayMode || BarGaugeDisplayMode.Gradient} showUnfilled />} />;
  if (panel.type === 'status-history') return <History panel={panel} data={data} width={width} height={height} />;
  if (panel.type === 'table') {
    const names = [...new Set(series.flatMap((one) => Object.keys(one.labels)))];
    const frame = createDataFrame({ fields: [...names.map((name) => ({ name, type: FieldType.string, values: series.map((one) => one.labels[name] || ''), config: {} })),
      { name: series[0]?.name || 'Value', type: FieldType.number, values: series.map((one) => one.values[one.values.length - 1]), config: {} }] });
    const shown = applyFieldOverrides({ data: [frame], fieldConfig: { defaults: { ...(panel.fieldConfig?.defaults || {}), custom: { ...CUSTOM, ...(panel.fieldConfig?.defaults?.custom || {}) } }, overrides: panel.fieldConfig?.overrides || [] }, replaceVariables: (v) => v, theme, timeZone: 'utc', fieldConfigRegistry: registry });
    return <Table data={shown[0]} width={width} height={height} columnMinWidth={panel.fieldConfig.defaults.custom.minWidth} />;
  }
  return <div style={{ padding: 8, color: theme.colors.text.secondary }}>{panel.type}: {values.length} values (this kind of panel is not among Grafana's published components)</div>;
}

// A stand-in: Grafana does not publish its status history. Colours and texts are those of Grafana's field display.
function History({ panel, data, width, height }) {
  const rows = [...data].sort((a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })), left = 96, top = 6, bottom = 22;
  const high = (height - top - bottom) / rows.length, times = rows[0].fields[0].values, wide = (width - left) / times.length;
  const every = Math.ceil(11 / high);
  return <svg width={width} height={height} style={{ fontSize: 11, fill: theme.colors.text.primary }}>
    {rows.map((frame, y) => <g key={frame.name}>{y % every === 0 && <text x={left - 6} y={top + y * high + high / 2 + 4} textAnchor="end">{frame.name}</text>}
      {frame.fields[1].values.map((value, x) => value !== null && <rect key={x} x={left + x * wide} y={top + y * high} width={wide + 0.3} height={Math.max(1, high - 1)} fill={frame.fields[1].display(value).color} />)}
      {panel.options.showValue !== 'never' && frame.fields[1].values.map((value, x) => value !== null && <text key={x} x={left + (x + 0.5) * wide} y={top + y * high + high / 2 + 4} textAnchor="middle" style={{ fill: '#000', fontSize: 10 }}>{frame.fields[1].display(value).text}</text>)}</g>)}
    {[0, 0.25, 0.5, 0.75].map((part) => <text key={part} x={left + part * (width - left)} y={height - 6}>{new Date(times[Math.floor(part * times.length)]).toISOString().slice(11, 16)}</text>)}
  </svg>;
}

class Guard extends React.Component {
  state = {};
  static getDerivedStateFromError(error) { return { error }; }
  render() { return this.state.error ? <pre style={{ color: '#f2495c', whiteSpace: 'pre-wrap' }}>{String(this.state.error.stack || this.state.error).slice(0, 600)}</pre> : this.props.children; }
}

function App({ dashboard, results }) {
  const width = Math.min(window.innerWidth, 2400) - 32, unit = (width + 8) / 24;
  const range = { from: { ...results.range }.from, to: results.range.to };
  const t = (ms) => ({ valueOf: () => ms, toDate: () => new Date(ms), utc: () => t(ms), isValid: () => true, format: () => new Date(ms).toISOString(), unix: () => ms / 1000 });
  const timeRange = { from: t(range.from), to: t(range.to), raw: { from: 'now-6h', to: 'now' } };
  let bottom = 0;
  const drawn = dashboard.panels.flatMap((p) => [p, ...(p.panels || [])]).map((panel) => {
    const { x, y, w, h } = panel.gridPos; bottom = Math.max(bottom, (y + h) * 38);
    const style = { position: 'absolute', left: 16 + x * unit, top: 56 + y * 38, width: w * unit - 8, height: h * 38 - 8 };
    if (panel.type === 'row') return <h4 key={panel.id ?? panel.title} style={style}>▾ {panel.title}</h4>;
    return <div key={panel.id} style={style}><PanelChrome title={panel.title} description={panel.description} width={w * unit - 8} height={h * 38 - 8}>
      {(iw, ih) => <Guard><Body panel={panel} series={results.panels[panel.id] || []} width={iw} height={ih} range={timeRange} /></Guard>}</PanelChrome></div>;
  });
  return <ThemeContext.Provider value={theme}><GlobalStyles /><div style={{ position: 'relative', height: bottom + 72, background: theme.colors.background.canvas }}>
    <h3 style={{ position: 'absolute', left: 16, top: 14 }}>{dashboard.title}</h3>{drawn}</div></ThemeContext.Provider>;
}
// Bars measure their titles with this font.
document.fonts.load('13px Inter').finally(() => createRoot(document.getElementById('app')).render(<App dashboard={window.DASHBOARD} results={window.RESULTS} />));
