// The words of the page, in English and Chinese.

const CHINESE = {
  "Teams": "团队", "Board": "任务", "Conversation": "对话", "Mail": "邮件", "Graph": "依赖图", "Questions": "问题",
  "Members": "成员", "running": "运行中", "stopped": "已停止", "working": "工作中", "idle": "空闲", "waiting": "等待",
  "parked": "已停放", "left": "已离开", "blocked": "受阻", "ready": "待领取", "in progress": "进行中", "done": "完成",
  "Send": "发送", "Message to": "发给", "all members": "所有成员", "Interrupt": "打断", "Ask to leave": "请它离开",
  "Yes": "同意", "Always": "总是同意", "No": "拒绝", "Add a task": "添加任务", "Add": "添加", "Back": "返回",
  "No connection. Trying again …": "连接已断开，正在重试…", "There are no tasks.": "没有任务。", "There is no mail.": "没有邮件。",
  "There are no teams here.": "这里没有团队。", "Why not? (optional)": "为什么不？（可选）", "earlier entries are not shown": "条更早的记录未显示",
  "Nothing was said yet.": "还没有内容。", "Search": "搜索", "cost": "费用", "tokens": "词元", "model calls": "模型调用",
  "This team is not running. To continue it, run:": "这个团队没有在运行。要继续，请运行：",
  "Timeline": "时间线", "Cost": "费用", "Changes": "改动", "Models": "模型", "Past": "回放", "Now": "现在", "Play": "播放", "Pause": "暂停",
  "Speed": "速度", "Time": "时间", "Views": "视图", "Part": "部分", "the whole team": "整个团队", "not merged yet": "尚未合并",
  "No model was asked yet.": "还没有调用模型。", "Changes are not in a saved page.": "保存的页面不包含改动。",
  "Conversations have no times, so this one is complete.": "对话没有时间，所以这里显示全部内容。",
  "a question waits for you": "有问题等待你回答", "Notify me": "通知我", "asks you": "有问题问你", "from": "来自",
  "Open the link that deskmate web printed. It has the token that this page needs.": "请打开 deskmate web 打印的链接，其中包含此页面需要的令牌。",
  "Show": "展开", "Hide": "收起", "critical path": "关键路径", "Subject of the task": "任务标题", "now": "刚刚",
};
const chinese = (navigator.language || "").toLowerCase().startsWith("zh");
export const language = chinese ? "zh" : "en";

export function t(words) {
  return (chinese && CHINESE[words]) || words;
}

export function money(cost) {
  return cost === null || cost === undefined ? "?" : `$${cost < 1 ? cost.toFixed(4) : cost.toFixed(2)}`;
}

export function ago(at, now) {
  const seconds = Math.max(0, Math.round(now - at));
  if (!at || seconds < 5) return t("now");
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}
